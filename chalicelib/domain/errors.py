"""The tree of errors. Each has a stable code and an HTTP status; the message names the culprit, the hint says what to do next."""

from http import HTTPStatus


class FLError(Exception):
    """Something Tutti refuses or cannot do; shown to the user as code, message, hint and the fields it is about."""

    code = "error"
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    hint = ""

    def __init__(self, message: str, *, hint: str | None = None, fields: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        if hint is not None:
            self.hint = hint
        self.fields = fields or {}


class InvalidRequest(FLError):
    """A field of the request breaks its rule."""

    code = "invalid_request"
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    hint = "Correct the fields named and send the request again."


class BadPlace(InvalidRequest):
    """A mistake at a place: ``path`` of the file in the workspace, line and column from 1, ``key`` as a dotted path."""

    code = "bad_place"

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
        key: str | None = None,
        hint: str | None = None,
        fields: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message, hint=hint, fields=fields or ({path: message} if path else None))
        self.path, self.line, self.column, self.key = path, line, column, key


class BadValue(BadPlace):
    """A typed value starts like JSON and is not, or is a number out of range."""

    code = "bad_value"


class BadJson(BadPlace):
    """A text that should be JSON is not; says line and column."""

    code = "bad_json"


class BadConfig(BadPlace):
    """One of a workspace's configs is JSON, but not what NVFLARE or Tutti needs; ``finding`` is the report's code for it."""

    code = "bad_config"

    def __init__(
        self, finding: str, message: str, *, path: str, key: str, line: int | None = None, column: int | None = None
    ) -> None:
        super().__init__(message, path=path, key=key, line=line, column=column)
        self.finding = finding


class NotSignedIn(FLError):
    code = "not_signed_in"
    status = HTTPStatus.UNAUTHORIZED
    hint = "Sign in, or send an API key as 'Authorization: Bearer …'."


class Forbidden(FLError):
    code = "forbidden"
    status = HTTPStatus.FORBIDDEN


class NotFound(FLError):
    """Absent, or not the asker's: the two are never told apart."""

    code = "not_found"
    status = HTTPStatus.NOT_FOUND


class BucketNotFound(NotFound):
    code = "bucket_not_found"


class ObjectNotFound(NotFound):
    code = "object_not_found"


class UploadNotFound(NotFound):
    code = "upload_not_found"
    hint = "Start the upload again."


class JobNotFound(NotFound):
    code = "job_not_found"


class WorkerNotFound(NotFound):
    code = "worker_not_found"


class KeyNotFound(NotFound):
    code = "key_not_found"


class WorkspaceNotFound(NotFound):
    code = "workspace_not_found"


class Conflict(FLError):
    code = "conflict"
    status = HTTPStatus.CONFLICT


class NoBucket(Conflict):
    code = "no_bucket"
    hint = "Create your bucket on the profile page (POST /api/me/bucket) and come back."


class NameTaken(Conflict):
    """A workspace of that name exists; ``fields['suggestion']`` is free."""

    code = "name_taken"


class FileTaken(Conflict):
    code = "file_taken"
    hint = "Take another name, or delete what is there first."


class WorkspaceBusy(Conflict):
    code = "workspace_busy"
    hint = "Wait until the job has ended, or cancel it."


class ClientTokenReused(Conflict):
    code = "client_token_reused"
    hint = "Use a new client token for a different launch."


class ReportHasErrors(Conflict):
    """The launch is refused while the report has errors; ``fields`` names them by path."""

    code = "report_has_errors"
    hint = "Correct the findings of the report and launch again."


class NoCapacity(Conflict):
    """Fewer workers are free than the job has shards."""

    code = "no_capacity"
    hint = "Choose another GPU type, or wait until workers are free."


class Superseded(Conflict):
    """The worker belongs to an attempt that was replaced; it must exit."""

    code = "superseded"


class JobEnded(Conflict):
    code = "job_ended"


class UploadIncomplete(Conflict):
    """The parts in the store do not add up to the announced size; ``fields`` says how many bytes are there."""

    code = "upload_incomplete"
    hint = "Send the missing parts and complete again."


class PreconditionFailed(FLError):
    """The object is no longer what the writer had read."""

    code = "precondition_failed"
    status = HTTPStatus.PRECONDITION_FAILED
    hint = "Load the newest version, apply your change to it, and save again."


class TooLarge(FLError):
    code = "too_large"
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class Busy(FLError):
    """Too many writers at once; nothing was lost, try again."""

    code = "busy"
    status = HTTPStatus.SERVICE_UNAVAILABLE
    hint = "Try again in a moment."


class StaleWrite(Busy):
    """Someone else wrote first; the caller reads again and repeats."""

    code = "stale_write"


class StoreUnavailable(Busy):
    """The object store or the records do not answer."""

    code = "store_unavailable"


class StillStopping(FLError):
    """Workers were asked to leave and some are still there; the state machine asks again."""

    code = "still_stopping"


class JobCannotGoOn(FLError):
    """A step of the state machine finds that the job's end is already decided."""

    code = "job_cannot_go_on"

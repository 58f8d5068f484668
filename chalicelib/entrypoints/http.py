"""What every HTTP door shares: bodies in, models out, errors as ``{"error": {…}}``, one log line per refusal."""

import functools
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from chalice.app import Request, Response
from pydantic import BaseModel, ValidationError

from chalicelib.contracts.account import Principal, WorkerPrincipal
from chalicelib.contracts.api import ErrorAnswer, ErrorBody
from chalicelib.domain.errors import FLError, InvalidRequest, NotSignedIn
from chalicelib.entrypoints.log import backend_logger

logger = backend_logger()

Model = TypeVar("Model", bound=BaseModel)


View = Callable[..., BaseModel | None]


@dataclass(frozen=True)
class Door:
    """What a door takes and answers, for the OpenAPI document."""

    view: View
    status: int
    takes: type[BaseModel] | None
    query: tuple[str, ...]


def endpoint(
    request: Callable[[], Request],
    *,
    status: int = 200,
    takes: type[BaseModel] | None = None,
    query: tuple[str, ...] = (),
) -> Callable[[View], Callable[..., Response]]:
    """Make a view of a use case: its body becomes a model (``wish``), its answer JSON with ``status`` (204 for None), its
    domain errors the error form.

    The decorator sits on the view itself because Chalice turns a view's exceptions into responses before any middleware.
    """

    def wrap(view: View) -> Callable[..., Response]:
        @functools.wraps(view)
        def door(**path: Any) -> Response:
            asked = request()
            request_id = _request_id(asked)
            try:
                given = path if takes is None else path | {"wish": _body(asked, takes)}
                answer = _answer(view(**given), status, request_id)
            except FLError as error:
                return _refusal(error, request_id)
            except Exception:  # a door: whatever went wrong becomes an answer, and a log line with the trace
                logger.exception("request failed", extra={"correlation_id": request_id})
                return _refusal(FLError("something went wrong on our side", hint="Try again; report the request id."), request_id)

            _note(asked, answer.status_code, request_id)
            return answer

        door.__dict__["door"] = Door(view=view, status=status, takes=takes, query=query)
        return door

    return wrap


def _note(request: Request, status: int, request_id: str) -> None:
    """One line for what a user changed; polls and workers' reports would drown it."""
    if request.method != "GET" and not request.path.startswith("/worker/"):
        extra = {"correlation_id": request_id, "method": request.method, "route": request.path, "status": status}
        logger.info("done", extra=extra)


def _request_id(request: Request) -> str:
    given = request.headers.get("x-request-id", "")
    known = given if given.isascii() and given.replace("-", "").isalnum() and len(given) <= 64 else ""
    return str(request.context.get("requestId") or known or uuid.uuid4())


def _answer(result: BaseModel | None, status: int, request_id: str) -> Response:
    headers: dict[str, str | list[str]] = {
        "Content-Type": "application/json",
        "Cache-Control": "no-store",
        "X-Request-Id": request_id,
    }
    if result is None:
        return Response(body="", status_code=204, headers=headers)
    return Response(body=result.model_dump_json(), status_code=status, headers=headers)


def _refusal(error: FLError, request_id: str) -> Response:
    logger.info("refused", extra={"correlation_id": request_id, "code": error.code, "status": int(error.status)})
    body = ErrorBody(code=error.code, message=error.message, hint=error.hint, fields=error.fields, request_id=request_id)
    return _answer(ErrorAnswer(error=body), int(error.status), request_id)


def invalid(error: ValidationError) -> InvalidRequest:
    """The fields a request gets wrong, each with what is wrong about it; input values are not repeated."""
    fields = {".".join(str(part) for part in problem["loc"]) or "body": problem["msg"] for problem in error.errors()}
    first = next(iter(fields.items()))
    return InvalidRequest(f"{len(fields)} field(s) are not right; {first[0]}: {first[1]}", fields=fields)


def _body(request: Request, model: type[Model]) -> Model:
    """The request's JSON body as this model; numbers keep their kind and size."""
    try:
        return model.model_validate_json(request.raw_body or b"{}")
    except ValidationError as error:
        raise invalid(error) from error


def query(request: Request, name: str) -> str | None:
    """One query parameter, None when it is not given or empty."""
    value = (request.query_params or {}).get(name)  # type: ignore[call-overload]
    return str(value) if value else None


def number(request: Request, name: str, default: int = 0) -> int:
    """A query parameter as a whole number from 0."""
    text = query(request, name) or str(default)
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise InvalidRequest(f"{name} is not a whole number", fields={name: f"{text!r} is not a whole number from 0"})
    return int(text)


def principal(request: Request) -> Principal:
    """Who the authorizer found."""
    found: dict[str, str] = request.context.get("authorizer") or {}
    if not found.get("user"):
        raise NotSignedIn("you are not signed in")
    return Principal(user=found["user"], name=found.get("name", ""))


def worker(request: Request) -> WorkerPrincipal:
    """Which worker the authorizer found."""
    found: dict[str, str] = request.context.get("authorizer") or {}
    if not found.get("job_id"):
        raise NotSignedIn("this is not a worker's token")
    return WorkerPrincipal(job_id=found["job_id"], attempt=int(found["attempt"]), site=found["site"], role=found["role"])

"""What the services need of the world. The docstrings are the contract; tests/adapters holds a suite per port.

Every port raises the errors of domain/errors.py and never one of an SDK.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from chalicelib.contracts.account import ApiKey, BucketCredentials, WorkerPrincipal
from chalicelib.contracts.files import HalfUpload, Listing, ObjectInfo, Part
from chalicelib.contracts.job import Change, FeedItem, Job, WorkerState
from chalicelib.contracts.offers import Lease, Offer, Requirements
from chalicelib.contracts.report import Report
from chalicelib.contracts.worker import Role


class Clock(Protocol):
    """Time, so that decisions can be tested."""

    def now(self) -> datetime:
        """The moment, in UTC and aware."""

    def pause(self, seconds: float) -> None:
        """Return after so many seconds; a test's clock returns at once."""


class Ids(Protocol):
    """Chance, so that decisions can be tested."""

    def job_id(self) -> str:
        """``job-`` and a lower-case ULID; later ids sort after earlier ones."""

    def secret(self) -> str:
        """At least 256 bits from the system's generator, URL-safe."""

    def jitter(self) -> float:
        """A number in [0, 1)."""


class ObjectStore(Protocol):
    """S3. Keys are plain strings (never URL-encoded); ETags come without quotes."""

    def create_bucket(self, bucket: str, *, origins: Sequence[str]) -> None:
        """Make a private, versioned bucket whose CORS lets the origins PUT and GET and exposes ETag, and which drops half
        uploads after 7 days. Silent when the bucket is there; the settings are then written again."""

    def list(
        self, bucket: str, prefix: str = "", *, cursor: str | None = None, limit: int = 1000, delimiter: str = ""
    ) -> Listing:
        """Objects in key order, at most ``limit`` (≤ 1,000) objects and prefixes a page. An absent bucket: BucketNotFound."""

    def head(self, bucket: str, key: str, *, version: str | None = None) -> ObjectInfo:
        """Size and ETag. Absent: ObjectNotFound."""

    def read(
        self, bucket: str, key: str, *, start: int | None = None, length: int | None = None, version: str | None = None
    ) -> bytes:
        """The bytes, or the range; a negative ``start`` counts from the end; a range past the end is cut.

        Absent: ObjectNotFound."""

    def put(
        self,
        bucket: str,
        key: str,
        data: bytes,
        *,
        content_type: str = "application/octet-stream",
        if_match: str | None = None,
        if_absent: bool = False,
    ) -> ObjectInfo:
        """Write the object whole. ``if_match`` with another ETag, or ``if_absent`` with an object there: PreconditionFailed."""

    def copy(self, bucket: str, key: str, *, to_key: str) -> ObjectInfo:
        """Copy inside one bucket, of any size. Absent: ObjectNotFound."""

    def delete(self, bucket: str, keys: Sequence[str]) -> None:
        """Delete the current versions; silent for keys that are not there."""

    def restore(self, bucket: str, keys: Sequence[str]) -> Sequence[str]:
        """Undo the deletion of these keys; the keys that came back. Silent for what was never there, is there, or is lost."""

    def keeps_versions(self, bucket: str) -> bool:
        """Whether a deletion made now can be undone."""

    def delete_prefix(self, bucket: str, prefix: str) -> None:
        """Delete every version of everything under a prefix that ends in ``/``; silent when there is nothing."""

    def start_upload(self, bucket: str, key: str, *, content_type: str) -> str:
        """Begin a multipart upload; the id the store gives it."""

    def sign_part(self, bucket: str, key: str, upload_id: str, number: int, *, size: int, expires: timedelta) -> str:
        """A URL that accepts exactly ``size`` bytes as part ``number`` by PUT."""

    def parts(self, bucket: str, key: str, upload_id: str) -> Sequence[Part]:
        """The parts the store has, by number. A finished, aborted or unknown upload: UploadNotFound."""

    def complete_upload(self, bucket: str, key: str, upload_id: str, parts: Sequence[Part]) -> ObjectInfo:
        """Make the object of these parts. Unknown: UploadNotFound."""

    def abort_upload(self, bucket: str, key: str, upload_id: str) -> None:
        """Drop the upload and its parts; silent when it is gone."""

    def half_uploads(self, bucket: str) -> Sequence[HalfUpload]:
        """Every upload begun and neither completed nor aborted, without the bytes it holds."""

    def sign_get(
        self, bucket: str, key: str, *, expires: timedelta, version: str | None = None, filename: str | None = None
    ) -> str:
        """A URL that gives this object; with ``filename`` a browser saves it under that name."""

    def sign_put(self, bucket: str, key: str, *, expires: timedelta, size: int | None = None) -> str:
        """A URL that accepts one PUT of this key, of exactly ``size`` bytes when given."""


class BucketKeys(Protocol):
    """Keys to one bucket for other S3 tools."""

    def issue(self, bucket: str) -> BucketCredentials:
        """A key pair that opens this bucket and no other. The user's earlier pair stops working where pairs do not expire."""

    def endpoint(self) -> str | None:
        """The S3 endpoint other tools use; None for AWS's own."""

    def region(self) -> str:
        """The region to sign for."""


@dataclass(frozen=True)
class JobPage:
    """One page of jobs, newest first."""

    jobs: tuple[Job, ...]
    cursor: str | None


class JobStore(Protocol):
    """Jobs and their rows. The job row numbers its feed: one transaction writes both or nothing."""

    def add(self, job: Job, *, client_token: str, content: str, workers: Sequence[WorkerState]) -> Job:
        """Store a new job, its worker rows, and remember (owner, client token, content). The same token and content: the job
        stored first. The same token with other content: ClientTokenReused. Another active job of the workspace: WorkspaceBusy."""

    def by_token(self, owner: str, client_token: str, content: str) -> Job | None:
        """The job an earlier launch with this token made; None when there is none. Other content: ClientTokenReused."""

    def get(self, job_id: str) -> Job:
        """The job. Absent: JobNotFound."""

    def list(self, owner: str, *, cursor: str | None = None, limit: int = 50, workspace: str | None = None) -> JobPage:
        """The owner's jobs, newest first."""

    def active(self) -> Sequence[Job]:
        """Every job that has not ended, of every owner; for the tick."""

    def active_in(self, owner: str, workspace: str) -> Job | None:
        """The job of this workspace that has not ended."""

    def commit(self, job: Job, *, changes: Sequence[Change], workers: Sequence[WorkerState], at: datetime) -> Job:
        """Write the job and number the changes after ``job.seq``, in one transaction that holds only if the stored version is
        ``job.version`` and no stored row has a higher ``accepted_seq`` than the one given; answers the job as stored
        (version + 1, seq moved on). Otherwise: StaleWrite, and nothing is written."""

    def touch(self, job_id: str, worker: WorkerState) -> None:
        """Note that a worker was heard of: only ``last_seen``, ``accepted_seq`` and ``silent_warned`` of its row are written, and
        nothing when the stored ``accepted_seq`` is higher. Everything else of a row is written by ``commit``. An absent row:
        WorkerNotFound."""

    def worker(self, job_id: str, attempt: int, site: str) -> WorkerState:
        """One worker row. Absent: WorkerNotFound."""

    def workers(self, job_id: str, attempt: int) -> Sequence[WorkerState]:
        """All worker rows of an attempt: server first, then the sites in their order."""

    def feed(self, job_id: str, *, after: int, limit: int = 500, kinds: Sequence[str] = ()) -> Sequence[FeedItem]:
        """Changes with a number above ``after`` in order, only of the given kinds when any is given."""


class ReportStore(Protocol):
    """The newest report of each workspace, whatever order the checks end in."""

    def next_counter(self, owner: str, workspace: str) -> int:
        """A number higher than any given before for this workspace; taken before the folder is listed."""

    def store(self, owner: str, report: Report) -> bool:
        """Keep the report if its counter is the highest stored so far; whether it was kept."""

    def newest(self, owner: str, workspace: str) -> tuple[Report | None, int]:
        """The report kept, and the highest counter taken (a check above the report's is still under way)."""


@dataclass(frozen=True)
class UploadRecord:
    """An upload under way and whose it is."""

    id: str
    owner: str
    bucket: str
    key: str
    size: int
    part_size: int
    store_id: str
    started_at: datetime


class AccountStore(Protocol):
    """Users, their buckets, keys, uploads, and the credentials of workers. Secrets are stored hashed only."""

    def bucket_of(self, user: str) -> str | None:
        """The user's bucket; None before it is created."""

    def owner_of(self, bucket: str) -> str | None:
        """Whose bucket it is; None for the platform's or an unknown one."""

    def set_bucket(self, user: str, bucket: str) -> str:
        """Remember the user's bucket if there is none yet; the bucket that holds now."""

    def buckets(self) -> Sequence[tuple[str, str]]:
        """(user, bucket) of everybody; for the sweep."""

    def add_key(self, user: str, key: ApiKey, *, name: str, secret_hash: str) -> None:
        """Store an API key of this user, whose display name it carries."""

    def keys(self, user: str) -> Sequence[ApiKey]:
        """The user's keys, newest first."""

    def remove_key(self, user: str, key_id: str) -> None:
        """Revoke at once. Absent or someone else's: KeyNotFound."""

    def user_of_key(self, secret_hash: str, *, at: datetime) -> tuple[str, str] | None:
        """(user, display name) of a key, noting its use to the minute; None when there is no such key."""

    def add_upload(self, record: UploadRecord) -> None:
        """Remember an upload."""

    def upload(self, owner: str, upload_id: str) -> UploadRecord:
        """The upload. Absent or someone else's: UploadNotFound."""

    def remove_upload(self, owner: str, upload_id: str) -> None:
        """Forget it; silent when absent."""

    def add_worker_code(self, code_hash: str, worker: WorkerPrincipal) -> None:
        """Remember the one-time code a worker will be started with."""

    def redeem_code(self, code_hash: str, *, nonce: str, token_hash: str) -> WorkerPrincipal | None:
        """Exchange a code for a token: the first nonce binds the code; the same nonce again replaces the token; another nonce,
        an unknown or a revoked code: None."""

    def worker_of_token(self, token_hash: str) -> WorkerPrincipal | None:
        """Whose token it is; None when unknown or revoked."""

    def revoke_workers(self, job_id: str) -> None:
        """Every code and token of the job stops working; silent when there is none."""


class Fleet(Protocol):
    """What can be rented, and what is held. A reservation is all or nothing."""

    def offers(self) -> Sequence[Offer]:
        """One offer per GPU type, with its free count now."""

    def reserve(self, job_id: str, requirements: Requirements, count: int) -> Sequence[Lease]:
        """Hold the ``count`` cheapest free slots of the type for this job, or none: NoCapacity. Again for the same job: the
        leases it has. Two racing for the last slots: exactly one wins."""

    def leases(self, job_id: str) -> Sequence[Lease]:
        """What the job holds."""

    def release(self, job_id: str) -> None:
        """Give everything back; silent when nothing is held, may be called twice."""

    def holders(self) -> Sequence[str]:
        """The ids of all jobs that hold a lease; for the tick."""


@dataclass(frozen=True)
class WorkerSpec:
    """What a backend needs to start one worker process or container."""

    job_id: str
    attempt: int
    site: str
    role: Role
    code: str
    gpu_type: str
    threads: int


class Compute(Protocol):
    """Where workers run."""

    def start(self, spec: WorkerSpec) -> str:
        """Start the worker and answer its handle, without waiting for it to be up. The same (job, attempt, site) again: the
        handle of the one that runs or has run; an attempt never gets a second one. Nothing can be started: NoCapacity."""

    def stop(self, handle: str) -> None:
        """Ask the worker to leave, and make sure it is gone 25 s later. Silent when it is gone already; may be called twice;
        does not wait."""

    def handles(self, job_id: str) -> Sequence[str]:
        """Every worker of the job that may still run, also one whose start was never written down; empty when there is none."""

    def gone(self, handle: str) -> bool:
        """True when no process of this worker is left; also for an unknown handle."""


@dataclass(frozen=True)
class WorkerExit:
    """A worker's process ended: the twin of Batch's state change event.

    ``status`` is negative for a signal, None when unknown."""

    job_id: str
    attempt: int
    site: str
    status: int | None
    out_of_memory: bool = False


class Workflow(Protocol):
    """The state machine."""

    def start(self, job_id: str) -> None:
        """Start the execution named like the job; silent when it runs or has run."""

    def succeed(self, token: str) -> None:
        """Answer a waiting task; silent when nobody waits for the token any more."""

    def fail(self, token: str, *, error: str, cause: str) -> None:
        """Fail a waiting task; silent when nobody waits for the token any more."""

    def heartbeat(self, token: str) -> None:
        """Keep a waiting task alive; silent when nobody waits for the token any more."""

    def status(self, job_id: str) -> str | None:
        """RUNNING, SUCCEEDED, FAILED, TIMED_OUT or ABORTED; None when there is no such execution."""

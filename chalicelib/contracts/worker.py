"""What the platform and a worker say to each other over HTTP."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from chalicelib.contracts.base import Lenient, Measured, Said
from chalicelib.contracts.job import Cause, Phase

MODEL_LIMIT = 4 * 2**30
"""Bytes. The server needs up to five times the model as memory, and an object store copies 5 GB at most in one piece."""


class Role(StrEnum):
    """What a worker process is in its federation."""

    SERVER = "server"
    CLIENT = "client"


class TokenRequest(Lenient):
    """The one-time code a backend started the worker with. The same nonce may ask again when the answer was lost."""

    code: str
    nonce: str = Field(min_length=16)


class TokenAnswer(Lenient):
    """The worker's bearer token; good for one job, attempt and role."""

    token: str


class Source(Lenient):
    """An object to fetch by a signed URL."""

    url: str
    size: int
    etag: str = ""
    name: str = ""


class Assignment(Lenient):
    """Everything a worker needs to do its part; also read again after a restart of the worker."""

    job_id: str
    attempt: int
    role: Role
    site: str
    """``site-1`` … or ``server``."""
    sites: tuple[str, ...]
    """All worker sites in order; only the server gets them all, a client gets its own."""
    rounds: int
    start_round: int = 0
    minimum: int
    heartbeat_s: float
    """How often an event batch must reach the API at least."""
    heartbeat_timeout_s: int
    job_zip: Source
    """The launched copy: an NVFLARE job folder plus requirements/requirements.txt."""
    shard: Source | None = None
    checkpoint: Source | None = None
    server_address: str | None = None
    """``host:port`` of the central server's FL port; None for the server itself."""
    model_limit: int = MODEL_LIMIT
    """Bytes of all the global model's tensors; a larger one is refused before the first round."""
    memory_limit: int | None = None
    """Bytes that all processes of this worker may hold together; None: as much as the machine has."""
    stuck_after_s: float = 600.0
    """After how long without any progress in training the worker says that it is stuck."""
    threads: int = 1
    """OMP_NUM_THREADS of the training process; 0: as many as it likes, the machine is its own."""
    shard_root: str = ""
    """A folder inside the shard that becomes data_root (accepted re-rooting); empty: the shard's top."""


class PhaseEvent(Lenient):
    """The worker does something else now."""

    type: Literal["phase"] = "phase"
    phase: Phase
    detail: Said = ""
    round: int | None = None


class ProgressEvent(Lenient):
    """Progress inside a round, from ``logger({"epoch": i, "of": n, …})`` in user code."""

    type: Literal["progress"] = "progress"
    round: int
    step: int | None = None
    of: int | None = None
    metrics: dict[str, Measured] = Field(default_factory=dict)


class HeartbeatEvent(Lenient):
    """Still alive."""

    type: Literal["heartbeat"] = "heartbeat"


class JoinedEvent(Lenient):
    """Server: listening, kits uploaded (``address`` is host:port). Client: registered with the server."""

    type: Literal["joined"] = "joined"
    address: str | None = None


class RoundStartedEvent(Lenient):
    """Server only: the global model was sent out."""

    type: Literal["round_started"] = "round_started"
    round: int


class SiteResult(Lenient):
    """One worker's part in a round: accepted, or why not."""

    accepted: bool
    samples: int | None = None
    metrics: dict[str, Measured] = Field(default_factory=dict)
    refused: Cause | None = None


class RoundDoneEvent(Lenient):
    """Server only: a round was averaged."""

    type: Literal["round_done"] = "round_done"
    round: int
    sites: dict[str, SiteResult]
    seconds: float | None = None


class ValidatedEvent(Lenient):
    """Server only: what ``fl_validate_model`` said of the global model after a round, per site."""

    type: Literal["validated"] = "validated"
    round: int
    sites: dict[str, dict[str, Measured]]


class LogSegmentEvent(Lenient):
    """A log segment was put to the bucket by a signed URL."""

    type: Literal["log_segment"] = "log_segment"
    number: int
    lines: int
    bytes: int


class WarningEvent(Lenient):
    """Something the user should know that ends nothing."""

    type: Literal["warning"] = "warning"
    code: str
    sentence: Said


class StuckEvent(Lenient):
    """The worker lives, but its training shows no progress; None: it moves again."""

    type: Literal["stuck"] = "stuck"
    quiet_s: float | None
    """How long there has been none: no progress, no new phase, no line in the log."""
    sentence: Said = ""
    file: str | None = None
    """Where in the user's scripts it is, relative to the workspace."""
    line: int | None = None
    evidence: tuple[Said, ...] = ()


class FinishedEvent(Lenient):
    """Server: the verdict is good and the model is uploaded. Client: it left in order."""

    type: Literal["finished"] = "finished"
    model_size: int | None = None
    rounds: int | None = None
    """Rounds whose average is in the model."""


class FailedEvent(Lenient):
    """This worker cannot go on (server: the job cannot)."""

    type: Literal["failed"] = "failed"
    cause: Cause


WorkerEvent = Annotated[
    PhaseEvent
    | ProgressEvent
    | HeartbeatEvent
    | JoinedEvent
    | RoundStartedEvent
    | RoundDoneEvent
    | ValidatedEvent
    | LogSegmentEvent
    | WarningEvent
    | StuckEvent
    | FinishedEvent
    | FailedEvent,
    Field(discriminator="type"),
]


class EventBatch(Lenient):
    """Up to 100 events; ``seq`` is the number of the first (from 1, without gaps per worker and attempt)."""

    attempt: int = Field(ge=1, le=10**6)
    seq: int = Field(ge=1, le=2**53)
    events: tuple[WorkerEvent, ...] = Field(max_length=100)


class Command(StrEnum):
    """What the platform asks of a worker in its answer to a batch."""

    STOP = "stop"
    STOP_AFTER_ROUND = "stop_after_round"
    NEW_ATTEMPT = "new_attempt"


class EventAnswer(Lenient):
    """Up to which number the events are stored (resend what is above), what to do, and when to call again."""

    accepted_seq: int
    commands: tuple[Command, ...] = ()
    next_in_ms: int


class UrlKind(StrEnum):
    """What a worker may ask a signed URL for."""

    KIT_PUT = "kit_put"
    """Server only; name: the site."""
    KIT_GET = "kit_get"
    """Client only, its own kit; 404 until the server has put it."""
    LOG = "log"
    """name: the segment's number; PUT to files_out/<job>/logs/attempt-<k>/<site>/<n>.ndjson"""
    FILE = "file"
    """name: a path below files_out/<job>/<site>/; PUT"""
    ROUND = "round"
    """Server only; name: the round's number; PUT to model_out/<job>/rounds/round_<n>.pt"""
    MODEL = "model"
    """Server only; PUT to model_out/<job>/GLOBAL_MODEL.pt"""
    BEST = "best"
    """Server only; PUT to model_out/<job>/BEST_MODEL.pt"""
    SHARD = "shard"
    """Client only: its shard again, the old URL having expired; GET"""
    CHECKPOINT = "checkpoint"
    JOB_ZIP = "job_zip"


class UrlWish(Lenient):
    """One URL to sign. ``size`` over 5 GB gets a multipart upload with one URL per part."""

    kind: UrlKind
    name: str = ""
    size: int | None = None


class UrlRequest(Lenient):
    """Up to 100 URLs at once."""

    wishes: tuple[UrlWish, ...] = Field(min_length=1, max_length=100)


class SignedUrl(Lenient):
    """One signed URL; for a multipart upload ``parts`` holds the URLs in order, each of ``part_size`` bytes but the last."""

    kind: UrlKind
    name: str
    url: str
    parts: tuple[str, ...] = ()
    part_size: int | None = None
    upload_id: str | None = None


class UrlAnswer(Lenient):
    """The URLs in the order of the wishes."""

    urls: tuple[SignedUrl, ...]


class CompleteUpload(Lenient):
    """The parts of a multipart upload are all there; the API completes it from the store's own listing."""

    kind: UrlKind
    name: str = ""
    upload_id: str
    size: int

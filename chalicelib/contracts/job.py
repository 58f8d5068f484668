"""A job: where it is, why it ended, and what the job page follows."""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from chalicelib.contracts.base import Instant, Lenient, Measured, Said, Strict
from chalicelib.contracts.offers import Requirements


class JobState(StrEnum):
    """Where a job is; why it ended is said by its Reason."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def ended(self) -> bool:
        """True when the job never moves again."""
        return self not in (JobState.PENDING, JobState.RUNNING)


class Fault(StrEnum):
    """Who is at fault when a job ends badly."""

    NOBODY = "nobody"
    CODE = "your_code"
    DATA = "your_data"
    SETTINGS = "your_settings"
    PROVIDER = "provider"
    PLATFORM = "platform"


class ReasonCode(StrEnum):
    """Why a job ended. domain/causes.py gives each its state, its fault and its advice (a test keeps them complete)."""

    COMPLETED = "completed"
    CANCELLED_BY_USER = "cancelled_by_user"
    STOPPED_BY_USER = "stopped_by_user"
    IMPORT_FAILED = "import_failed"
    """scripts/ could not be imported: syntax, missing package, exception at import."""
    MISSING_MODULE = "missing_module"
    """scripts/ import a module that is neither among them nor installed."""
    DEPENDENCY_CONFLICT = "dependency_conflict"
    """Two installed packages do not fit each other, such as torch and numpy."""
    NAME_MISSING = "name_missing"
    """The model class or the training function is not in the module."""
    MODEL_BUILD_FAILED = "model_build_failed"
    """The model class raised when it was built with the server config's args."""
    CHECKPOINT_FAILED = "checkpoint_failed"
    """The base checkpoint could not be loaded into the model."""
    MODEL_TOO_LARGE = "model_too_large"
    """The model is larger than a round of the platform can carry."""
    CONFIG_INVALID = "config_invalid"
    """NVFLARE refused one of the configs."""
    TRAINING_RAISED = "training_raised"
    """The training function raised, or called sys.exit."""
    WRONG_RETURN = "wrong_return"
    """The training function returned something that is not a dict with weights and samples."""
    UPDATE_REFUSED = "update_refused"
    """An update's names, shapes, dtypes or values do not fit the global model."""
    NO_SAMPLES = "no_samples"
    """Every worker reported zero samples."""
    ROUND_TIMED_OUT = "round_timed_out"
    """The training timeout passed before the minimum of workers had answered."""
    BELOW_MINIMUM = "below_minimum"
    """Fewer workers than the minimum are left, or answered in a round."""
    PROCESS_KILLED = "process_killed"
    """A worker's process was ended from outside, by a signal such as SIGKILL, or nobody knows how."""
    PROCESS_CRASHED = "process_crashed"
    """The training process ended itself: ``os._exit``, or a crash in native code (SIGSEGV and the like)."""
    OUT_OF_MEMORY = "out_of_memory"
    GPU_MEMORY = "gpu_memory"
    """The GPU had too little memory left."""
    SHARED_MEMORY = "shared_memory"
    """A data loader's processes ran out of /dev/shm."""
    WORKER_SILENT = "worker_silent"
    """No heartbeat within the heartbeat timeout."""
    WORKER_NOT_JOINED = "worker_not_joined"
    """The start deadline passed before every worker had joined."""
    REQUIREMENTS_FAILED = "requirements_failed"
    SHARD_INVALID = "shard_invalid"
    """A shard could not be unpacked safely, or changed after the launch."""
    DISK_FULL = "disk_full"
    SERVER_LOST = "server_lost"
    MODEL_INVALID = "model_invalid"
    """The final model is missing, does not load, or is not finite."""
    PLATFORM_ERROR = "platform_error"


class Cause(Lenient):
    """The first cause of an end: a code, a sentence, the place and the lines that show it."""

    code: ReasonCode
    sentence: Said
    site: str | None = None
    file: str | None = None
    """Relative to the workspace, e.g. ``scripts/model_def.py``."""
    line: int | None = None
    round: int | None = None
    evidence: tuple[Said, ...] = ()
    """The last lines of the traceback or log that show it; at most 40."""


class Reason(Lenient):
    """Why a job ended, who is at fault, and what to do next."""

    code: ReasonCode
    sentence: str
    fault: Fault
    advice: str = ""
    site: str | None = None
    file: str | None = None
    line: int | None = None
    round: int | None = None
    evidence: tuple[str, ...] = ()


class Shard(Lenient):
    """One shard, frozen at launch: the site it belongs to and the exact bytes (version) it stands for."""

    site: str
    name: str
    key: str
    size: int
    etag: str
    version: str | None = None


class Checkpoint(Lenient):
    """The base checkpoint, frozen at launch."""

    key: str
    size: int
    etag: str
    version: str | None = None


class Job(Lenient):
    """One run of one workspace. Small whatever the number of workers: their states, metrics and logs are rows of their own."""

    id: str
    owner: str
    bucket: str
    workspace: str
    state: JobState
    reason: Reason | None = None
    """Set once the job has ended."""
    ending: Reason | None = None
    """Set when the end is decided but workers are still being stopped; a job that is ending accepts no other reason."""
    attempt: int = 1
    version: int = 0
    """Grows by one with every write; the store refuses a write from an older version."""
    seq: int = 0
    """The number of the newest change in the job's feed; no gaps."""
    workers: int
    minimum: int
    rounds: int
    round: int | None = None
    """The round in progress, counted from 0; None before the first."""
    rounds_done: int = 0
    loss: float | None = None
    """The workers' mean loss of the newest round, when their training function returns one."""
    joined: int = 0
    lost: int = 0
    server_joined: bool = False
    cancel_requested: bool = False
    gpu_type: str
    price_per_hour: Decimal = Decimal(0)
    """The exact sum over the machines taken."""
    heartbeat_timeout_s: int = 600
    start_deadline: Instant
    created_at: Instant
    running_at: Instant | None = None
    finishing_at: Instant | None = None
    ended_at: Instant | None = None
    server_address: str | None = None
    server_token: str | None = None
    """The state machine's task token that waits for the server; internal, never shown."""
    train_token: str | None = None
    """The state machine's task token that waits for the end of training; internal, never shown."""
    model_key: str | None = None
    model_size: int | None = None
    first_cause: Cause | None = None
    """The earliest failure any worker reported; what the job is FAILED with when it cannot go on."""
    stuck: Cause | None = None
    """What the worker that was last warned about as stuck was doing; explains a round that times out for it."""


class JobView(Lenient):
    """A job as its owner sees it: no tokens."""

    id: str
    workspace: str
    state: JobState
    reason: Reason | None
    ending: Reason | None
    attempt: int
    workers: int
    minimum: int
    rounds: int
    round: int | None
    rounds_done: int
    loss: float | None
    joined: int
    lost: int
    gpu_type: str
    price_per_hour: Decimal
    created_at: Instant
    running_at: Instant | None
    ended_at: Instant | None
    start_deadline: Instant
    model_key: str | None
    model_size: int | None


class Phase(StrEnum):
    """What a worker is doing."""

    STARTING = "starting"
    DOWNLOADING = "downloading"
    INSTALLING = "installing"
    JOINED = "joined"
    TRAINING = "training"
    UPLOADING = "uploading"
    WAITING = "waiting"
    DONE = "done"


SERVER = "server"
"""The site name of the central server in events, logs and worker rows."""


class WorkerState(Lenient):
    """One worker (or the central server, site ``server``) in one attempt."""

    site: str
    attempt: int
    phase: Phase = Phase.STARTING
    joined: bool = False
    done: bool = False
    failed: Cause | None = None
    last_seen: Instant | None = None
    accepted_seq: int = 0
    """The highest event number accepted from this worker; a lower one is a repeat and is ignored."""
    round: int | None = None
    step: int | None = None
    of: int | None = None
    """Progress inside a round: step (from 1) of how many."""
    silent_warned: bool = False
    stuck_since: Instant | None = None
    """Since when it lives but nothing it does can be seen; None while it moves."""
    handle: str | None = None
    """What Compute needs to stop it; internal."""
    exited: bool = False


class WorkerView(Lenient):
    """A worker as the job page shows it."""

    site: str
    attempt: int
    phase: Phase
    joined: bool
    done: bool
    failed: Cause | None
    last_seen: Instant | None
    round: int | None
    step: int | None
    of: int | None
    stuck_since: Instant | None
    """Since when it lives but shows no progress: what a page counts from. None while it moves; nobody ends it for that."""


class StateChanged(Lenient):
    """The job moved to another state, or its end was decided (``ending``)."""

    kind: Literal["state"] = "state"
    state: JobState
    ending: bool = False
    sentence: str = ""


class PhaseChanged(Lenient):
    """A worker does something else now."""

    kind: Literal["phase"] = "phase"
    site: str
    phase: Phase
    detail: str = ""


class RoundStarted(Lenient):
    """The server sent the global model out."""

    kind: Literal["round_started"] = "round_started"
    round: int


class RoundEnded(Lenient):
    """The server averaged a round: who was accepted, who was not and why."""

    kind: Literal["round_ended"] = "round_ended"
    round: int
    accepted: tuple[str, ...]
    refused: dict[str, str] = Field(default_factory=dict)
    seconds: float | None = None


class Metrics(Lenient):
    """Numbers of one worker (or of the whole round, site ``server``); a value that is not finite is None."""

    kind: Literal["metrics"] = "metrics"
    site: str
    round: int
    source: Literal["train", "validate", "progress"]
    values: dict[str, Measured]
    samples: int | None = None
    step: int | None = None
    of: int | None = None


class LogSegmentStored(Lenient):
    """A piece of a log is in the bucket."""

    kind: Literal["log"] = "log"
    source: str
    attempt: int
    number: int
    key: str
    lines: int
    bytes: int


class Warned(Lenient):
    """Something a user should know that does not end the job."""

    kind: Literal["warning"] = "warning"
    code: str
    sentence: str
    site: str | None = None


Change = Annotated[
    StateChanged | PhaseChanged | RoundStarted | RoundEnded | Metrics | LogSegmentStored | Warned,
    Field(discriminator="kind"),
]


class FeedItem(Lenient):
    """One numbered change of a job."""

    seq: int
    at: Instant
    change: Change


class LiveView(Lenient):
    """What changed after a given number. Nothing new: only ``seq`` and ``next_in_ms``."""

    seq: int
    job: JobView | None = None
    workers: tuple[WorkerView, ...] = ()
    feed: tuple[FeedItem, ...] = ()
    more: bool = False
    """True when the answer was cut at its page size: ask again at once."""
    next_in_ms: int | None
    """None when the job is over."""


class LaunchRequest(Strict):
    """A user's wish to launch a workspace."""

    workspace: str = Field(min_length=1, max_length=255, title="Workspace")
    client_token: str = Field(
        min_length=8,
        max_length=64,
        title="Client token",
        description="Makes the launch idempotent: the same token gives the same job.",
    )
    requirements: Requirements = Requirements()
    checkpoint_key: str | None = Field(
        default=None, title="Base checkpoint", description="A .pt of another folder of the bucket, in place of model/."
    )


class LaunchedFile(Lenient):
    """One file of the launched copy and how it differs from the workspace's (a unified diff, empty when equal)."""

    path: str
    text: str
    diff: str


class Launched(Lenient):
    """The launched copy of a job."""

    job_id: str
    files: tuple[LaunchedFile, ...]


class RoundView(Lenient):
    """One round: when it ended, who counted, and every worker's numbers."""

    round: int
    accepted: tuple[str, ...]
    refused: dict[str, str]
    seconds: float | None
    samples: dict[str, int]
    metrics: dict[str, dict[str, float | None]]
    """site → name → value; site ``server`` holds the sample-weighted means."""

"""A job: where it is, why it ended, what it left behind. Prices per worker-hour; rounds count from 0."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

PENDING, RUNNING, FINISHED, FAILED, CANCELLED = "PENDING", "RUNNING", "FINISHED", "FAILED", "CANCELLED"
ENDED = frozenset({FINISHED, FAILED, CANCELLED})
"""The states a job never leaves."""
SERVER = "server"
"""The site name of the central server."""


@dataclass(frozen=True)
class Offer:
    """A GPU type with its price and how many workers of it are free."""

    gpu_type: str
    title: str
    gpus: int
    gpu_memory: int
    vcpu: int
    ram: int
    price_per_hour: Decimal
    total: int
    free: int


@dataclass(frozen=True)
class Offers:
    """All offers at one moment."""

    at: datetime
    offers: tuple[Offer, ...]


@dataclass(frozen=True)
class Cause:
    """What went wrong first at one worker."""

    code: str
    sentence: str
    site: str | None = None
    file: str | None = None
    line: int | None = None
    round: int | None = None
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reason:
    """Why a job ended, who is at fault, and what to do next."""

    code: str
    sentence: str
    fault: str
    advice: str = ""
    site: str | None = None
    file: str | None = None
    line: int | None = None
    round: int | None = None
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """A job as its owner sees it. Rounds count from 0."""

    id: str
    workspace: str
    state: str
    reason: Reason | None
    ending: Reason | None
    attempt: int
    workers: int
    minimum: int
    rounds: int
    round: int | None
    rounds_done: int
    joined: int
    lost: int
    gpu_type: str
    price_per_hour: Decimal
    created_at: datetime
    running_at: datetime | None
    ended_at: datetime | None
    start_deadline: datetime
    model_key: str | None
    model_size: int | None
    loss: float | None = None
    """The workers' mean of the newest round."""

    @property
    def ended(self) -> bool:
        """True when the job never moves again."""
        return self.state in ENDED


@dataclass(frozen=True)
class Jobs:
    """One page of jobs, newest first."""

    jobs: tuple[Job, ...]
    cursor: str | None = None


@dataclass(frozen=True)
class Worker:
    """One worker, or the central server; progress inside a round is ``step`` (from 1) of ``of``."""

    site: str
    attempt: int
    phase: str
    joined: bool
    done: bool
    failed: Cause | None
    last_seen: datetime | None
    round: int | None
    step: int | None
    of: int | None
    stuck_since: datetime | None = None
    """Since when it lives but shows no progress; None while it moves."""


@dataclass(frozen=True)
class Round:
    """One finished round: who counted, and every worker's numbers (site ``server`` holds the sample-weighted means)."""

    round: int
    accepted: tuple[str, ...]
    refused: dict[str, str]
    seconds: float | None
    samples: dict[str, int]
    metrics: dict[str, dict[str, float | None]]


@dataclass(frozen=True)
class Rounds:
    """The finished rounds of a job."""

    rounds: tuple[Round, ...]


@dataclass(frozen=True)
class LogSegment:
    """A piece of a log and a URL that gives it for a while: one JSON object a line."""

    seq: int
    source: str
    attempt: int
    number: int
    url: str
    lines: int
    bytes: int


@dataclass(frozen=True)
class Logs:
    """One page of pieces, in order; ask again after ``after`` for those that follow."""

    segments: tuple[LogSegment, ...]
    after: int = 0
    more: bool = False

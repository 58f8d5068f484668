"""What the live feed of a job brings, one numbered change at a time."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

from tutti_fl.shapes.jobs import Job, Worker


@dataclass(frozen=True)
class StateChanged:
    """The job moved to another state, or its end was decided (``ending``)."""

    kind: ClassVar[str] = "state"
    state: str
    ending: bool = False
    sentence: str = ""


@dataclass(frozen=True)
class PhaseChanged:
    """A worker does something else now."""

    kind: ClassVar[str] = "phase"
    site: str
    phase: str
    detail: str = ""


@dataclass(frozen=True)
class RoundStarted:
    """The server sent the global model out."""

    kind: ClassVar[str] = "round_started"
    round: int


@dataclass(frozen=True)
class RoundEnded:
    """The server averaged a round."""

    kind: ClassVar[str] = "round_ended"
    round: int
    accepted: tuple[str, ...]
    refused: dict[str, str] = field(default_factory=dict)
    seconds: float | None = None


@dataclass(frozen=True)
class Metrics:
    """Numbers of one worker, or of the whole round (site ``server``); ``source`` is train, validate or progress."""

    kind: ClassVar[str] = "metrics"
    site: str
    round: int
    source: str
    values: dict[str, float | None]
    samples: int | None = None
    step: int | None = None
    of: int | None = None


@dataclass(frozen=True)
class LogSegmentStored:
    """A piece of a log is in the bucket."""

    kind: ClassVar[str] = "log"
    source: str
    attempt: int
    number: int
    key: str
    lines: int
    bytes: int


@dataclass(frozen=True)
class Warned:
    """Something a user should know that does not end the job."""

    kind: ClassVar[str] = "warning"
    code: str
    sentence: str
    site: str | None = None


@dataclass(frozen=True)
class Unknown:
    """A change of a kind this version does not know; safe to ignore."""


Change = StateChanged | PhaseChanged | RoundStarted | RoundEnded | Metrics | LogSegmentStored | Warned | Unknown


@dataclass(frozen=True)
class FeedItem:
    """One numbered change of a job."""

    seq: int
    at: datetime
    change: Change


@dataclass(frozen=True)
class Live:
    """What changed after a given number; ``next_in_ms`` is None when the job is over."""

    seq: int
    next_in_ms: int | None
    job: Job | None = None
    workers: tuple[Worker, ...] = ()
    feed: tuple[FeedItem, ...] = ()
    more: bool = False

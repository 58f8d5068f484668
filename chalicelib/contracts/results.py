"""What a job leaves behind, as the API answers it."""

from chalicelib.contracts.base import Lenient
from chalicelib.contracts.job import JobView, RoundView


class Rounds(Lenient):
    """Every round so far."""

    rounds: tuple[RoundView, ...]


class LogSegmentView(Lenient):
    """A piece of a log and where to read it; NDJSON lines of ``{"t", "level", "text"}``."""

    seq: int
    source: str
    attempt: int
    number: int
    url: str
    lines: int
    bytes: int


class LogSegments(Lenient):
    """One page of log segments; ask again with ``after`` for those that follow."""

    segments: tuple[LogSegmentView, ...]
    after: int
    more: bool = False


class JobViews(Lenient):
    """One page of jobs, newest first."""

    jobs: tuple[JobView, ...]
    cursor: str | None = None

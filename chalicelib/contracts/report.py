"""What validation says of a workspace."""

from enum import StrEnum

from chalicelib.contracts.base import Instant, Lenient


class Level(StrEnum):
    """How much a finding weighs: an error blocks the launch, a warning and a note do not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Finding(Lenient):
    """One line of a report: which file, what is wrong, what to do next.

    ``path`` is relative to the workspace (``scripts/model_def.py``); ``line`` and ``column`` count from 1; ``entry`` is a
    name inside an archive, ``key`` a dotted path inside a JSON file.
    """

    code: str
    level: Level
    message: str
    hint: str = ""
    path: str | None = None
    line: int | None = None
    column: int | None = None
    key: str | None = None
    entry: str | None = None


class CardState(StrEnum):
    """What a card of the Validate step shows."""

    NEEDS_FILES = "needs_files"
    READY = "ready"
    EMPTY = "empty"


class Card(Lenient):
    """One input folder of a workspace as the Validate step shows it; ``count`` ignores folder markers."""

    folder: str
    title: str
    required: bool
    state: CardState
    count: int
    size: int


class Report(Lenient):
    """All findings of one check of one workspace. ``counter`` orders the checks: the highest is the newest."""

    workspace: str
    counter: int
    at: Instant
    findings: tuple[Finding, ...]
    cards: tuple[Card, ...]
    workers: int
    """How many workers a launch would start: the number of zips in ``shards/``."""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that block a launch."""
        return tuple(f for f in self.findings if f.level is Level.ERROR)

"""A workspace, and what validation says of it."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Finding:
    """One line of a report: which file, what is wrong, what to do next."""

    code: str
    level: str
    message: str
    hint: str = ""
    path: str | None = None
    line: int | None = None
    column: int | None = None
    key: str | None = None
    entry: str | None = None

    @property
    def place(self) -> str:
        """``path:line:column``, as far as it is known, with the entry inside an archive or the key inside a JSON file."""
        spot = ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)
        inner = self.entry or self.key
        return f"{spot} ({inner})" if spot and inner else spot or inner or ""


@dataclass(frozen=True)
class Card:
    """One input folder of a workspace."""

    folder: str
    title: str
    required: bool
    state: str
    count: int
    size: int


@dataclass(frozen=True)
class Report:
    """All findings of one check of one workspace."""

    workspace: str
    counter: int
    at: datetime
    findings: tuple[Finding, ...]
    cards: tuple[Card, ...]
    workers: int

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that block a launch."""
        return tuple(finding for finding in self.findings if finding.level == "error")


@dataclass(frozen=True)
class GeneratedFile:
    """A file the platform wrote; ``edited`` when somebody changed it since."""

    path: str
    etag: str
    edited: bool = False


@dataclass(frozen=True)
class Built:
    """A workspace as it was just written; send ``etag`` to rebuild it."""

    name: str
    prefix: str
    files: tuple[GeneratedFile, ...]
    etag: str


@dataclass(frozen=True)
class Workspace:
    """A workspace with its five cards and its newest report."""

    name: str
    prefix: str
    cards: tuple[Card, ...]
    report: Report | None = None
    checking: bool = False
    active_job: str | None = None


@dataclass(frozen=True)
class WorkspaceSummary:
    """A row of the list of workspaces."""

    name: str
    prefix: str
    shards: int
    missing: tuple[str, ...]
    modified: datetime | None


@dataclass(frozen=True)
class Workspaces:
    """One page of workspaces."""

    workspaces: tuple[WorkspaceSummary, ...]
    cursor: str | None = None


@dataclass(frozen=True)
class FileText:
    """A small text file of a workspace."""

    path: str
    text: str
    etag: str

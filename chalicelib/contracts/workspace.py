"""A workspace: the folder ``jobs/<name>/`` of a user's bucket."""

from pydantic import Field

from chalicelib.contracts.base import Instant, Lenient, Strict
from chalicelib.contracts.report import Card, Report

INPUT_FOLDERS = ("scripts", "configs", "requirements", "shards", "model")
"""The folders a user fills; only these raise a validation."""
OUTPUT_FOLDERS = ("files_out", "model_out")
"""The folders the platform writes."""


class GeneratedFile(Lenient):
    """One file the platform wrote; ``edited`` when its content is no longer what was generated."""

    path: str
    etag: str
    edited: bool = False


class Workspace(Lenient):
    """A workspace with its five cards from one live listing."""

    name: str
    prefix: str
    cards: tuple[Card, ...]
    report: Report | None = None
    """The newest stored report; None before the first check."""
    checking: bool = False
    """True when a check is under way that will replace the report."""
    active_job: str | None = None


class WorkspaceSummary(Lenient):
    """A row of the list of workspaces."""

    name: str
    prefix: str
    shards: int
    missing: tuple[str, ...]
    """Required folders that hold no file."""
    modified: Instant | None


class Workspaces(Lenient):
    """One page of workspaces."""

    workspaces: tuple[WorkspaceSummary, ...]
    cursor: str | None = None


class Built(Lenient):
    """The answer to creating or rebuilding a workspace."""

    name: str
    prefix: str
    files: tuple[GeneratedFile, ...]
    etag: str
    """Identifies this state of the generated files; send it as If-Match to build again."""


class FileText(Lenient):
    """A small text file of a workspace."""

    path: str
    text: str
    etag: str


class PreviewedFile(Lenient):
    """A file as the wizard's form gives it, written nowhere."""

    path: str
    text: str


class Preview(Lenient):
    """What building a workspace would write."""

    name: str
    """The cleaned name: the workspace's folder below ``jobs/``."""
    files: tuple[PreviewedFile, ...]


class FileEdit(Strict):
    """An edited config; refused when ``etag`` is not the stored one."""

    text: str = Field(max_length=1_000_000)
    etag: str = Field(max_length=128, pattern=r"^[!-~]+$")
    path: str = Field(max_length=512)

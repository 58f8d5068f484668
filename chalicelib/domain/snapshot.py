"""A workspace at one moment, as far as the rules look at it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from chalicelib.contracts.files import ObjectInfo
from chalicelib.domain.archives import ArchiveDirectory, Unreadable
from chalicelib.domain.workspaces import (
    CLIENT_CONFIG,
    META,
    REQUIREMENTS,
    SERVER_CONFIG,
    checkpoints,
    files_in,
    is_junk,
    shards,
)

LARGEST_TEXT = 1_000_000
"""Bytes; a longer script, config or requirements file is not read."""
CONFIGS = (CLIENT_CONFIG, SERVER_CONFIG, META)


@dataclass(frozen=True)
class WorkspaceSnapshot:
    """The listing of the five input folders, the texts in them, and the directories of the shards.

    ``texts`` and ``archives`` are keyed by the path in the workspace (``scripts/model_def.py``); a text that is listed and
    not in ``texts`` was too large to read.
    """

    name: str
    prefix: str
    objects: tuple[ObjectInfo, ...]
    texts: Mapping[str, bytes] = field(default_factory=dict)
    archives: Mapping[str, ArchiveDirectory | Unreadable] = field(default_factory=dict)

    def folder(self, name: str) -> list[ObjectInfo]:
        """The files of one input folder, at any depth, in key order; folder markers and junk are none."""
        return files_in(name, self.objects, self.prefix)

    @property
    def shards(self) -> list[ObjectInfo]:
        """The zips that each stand for a worker, site-1's first."""
        return shards(self.objects, self.prefix)

    @property
    def checkpoints(self) -> list[ObjectInfo]:
        """The ``.pt`` files of ``model/``."""
        return checkpoints(self.objects, self.prefix)

    def path(self, item: ObjectInfo) -> str:
        """The item's path in the workspace."""
        return item.key.removeprefix(self.prefix)

    def has(self, path: str) -> bool:
        """Whether the workspace lists a file under this path."""
        return any(item.key == self.prefix + path for item in self.objects)

    @property
    def unread(self) -> list[str]:
        """Paths of the texts that were too large to read."""
        listed = (self.path(item) for item in self.objects)
        return [path for path in listed if is_text(path) and path not in self.texts]


def is_text(path: str) -> bool:
    """Whether the rules read this file: scripts and what lies beside them, the configs, requirements.txt."""
    if path.endswith("/") or is_junk(path):
        return False
    return path.startswith("scripts/") or path == REQUIREMENTS or path in {f"configs/{name}" for name in CONFIGS}

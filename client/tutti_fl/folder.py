"""A workspace as a folder on disk."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tutti_fl.errors import TuttiError
from tutti_fl.transfer import Send

SUFFIXES = {"scripts": "", "configs": "", "requirements": "", "shards": ".zip", "model": ".pt"}
"""The input folders, and which files of them count (all without a suffix)."""
CLIENT_CONFIG = "configs/config_fed_client.json"
SERVER_CONFIG = "configs/config_fed_server.json"


@dataclass(frozen=True)
class Folder:
    """The inputs found in a folder, by their path in the workspace (``shards/shard_0.zip``)."""

    root: Path
    files: dict[str, Path]

    @property
    def shards(self) -> tuple[str, ...]:
        """The zips, in the order of their names."""
        return tuple(path for path in self.files if path.startswith("shards/"))

    def sends(self, prefix: str) -> tuple[Send, ...]:
        """Every input with the key it has in a workspace."""
        return tuple(Send(path, prefix + name) for name, path in self.files.items())


def read_folder(root: Path) -> Folder:
    """The inputs of a folder; TuttiError ``no_folder`` or ``empty_folder`` when there are none."""
    if not root.is_dir():
        raise TuttiError("no_folder", f"there is no folder {root}", "Give the folder that holds scripts/ and shards/.")
    files = {path.relative_to(root).as_posix(): path for path in sorted(_inputs(root))}
    if not files:
        hint = "It should hold scripts/model_def.py and shards/*.zip."
        raise TuttiError("empty_folder", f"{root} holds nothing that belongs to a workspace", hint)
    return Folder(root, files)


def _inputs(root: Path) -> Iterator[Path]:
    for name, suffix in SUFFIXES.items():
        for path in (root / name).rglob("*"):
            hidden = any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(root).parts)
            if path.is_file() and not hidden and path.name.endswith(suffix):
                yield path

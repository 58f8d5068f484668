"""What was under way, so that the next attempt goes on where the last one broke off."""

import hashlib
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol


class Memory(Protocol):
    """Keeps a short note per piece of work, found by an exact text that says what it is."""

    def recall(self, what: str, /) -> str | None:
        """The note, or None."""

    def remember(self, what: str, note: str, /) -> None:
        """Keep the note."""

    def forget(self, what: str, /) -> None:
        """Silent when there is nothing."""


class NoMemory:
    """Everything starts from nothing."""

    def recall(self, _what: str, /) -> str | None:
        """None."""
        return None

    def remember(self, _what: str, _note: str, /) -> None:
        """Nothing is kept."""

    def forget(self, _what: str, /) -> None:
        """There is nothing to forget."""


class FolderMemory:
    """One small file per note in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def recall(self, what: str, /) -> str | None:
        """The note, or None."""
        try:
            return self._file(what).read_text().strip() or None
        except FileNotFoundError:
            return None

    def remember(self, what: str, note: str, /) -> None:
        """Keep the note, whole or not at all; only this user of the machine can read it."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = self._file(what).with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        fresh.write_text(note)
        fresh.replace(self._file(what))

    def forget(self, what: str, /) -> None:
        """Silent when there is nothing."""
        self._file(what).unlink(missing_ok=True)

    def _file(self, what: str) -> Path:
        return self._folder / hashlib.sha256(what.encode()).hexdigest()[:32]


def state_memory(environ: Mapping[str, str]) -> FolderMemory:
    """The memory of this user on this machine (``$XDG_STATE_HOME/tutti/under-way``)."""
    home = environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return FolderMemory(Path(home) / "tutti" / "under-way")

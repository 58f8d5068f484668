"""How far all files of an upload together are."""

import threading
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How far all files together are."""

    files: int
    files_done: int
    bytes: int
    bytes_done: int


class Meter:
    """Adds up what the lanes report and tells it on, one call at a time."""

    def __init__(self, files: int, size: int, progress: Callable[[Progress], None]) -> None:
        self._files, self._size = files, size
        self._files_done = self._bytes_done = 0
        self._progress, self._lock = progress, threading.Lock()

    def add(self, size: int, *, files: int = 0) -> None:
        """So many bytes more are through, or fewer when an attempt failed."""
        with self._lock:
            self._bytes_done += size
            self._files_done += files
            self._progress(Progress(self._files, self._files_done, self._size, self._bytes_done))

"""How far all files of a transfer together are, how fast they go, and how long they will take."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

WINDOW_S = 15.0
"""The speed is that of so many last seconds: long enough to be steady, short enough to follow a change."""
SAMPLE_S = 0.5


@dataclass(frozen=True)
class Progress:
    """How far all files together are."""

    files: int
    files_done: int
    bytes: int
    bytes_done: int
    speed: float | None = None
    """Bytes a second of late; None until that can be said."""
    trouble: str = ""
    """Why nothing moves, while nothing does."""

    @property
    def left_s(self) -> float | None:
        """Seconds to the end at this speed."""
        return (self.bytes - self.bytes_done) / self.speed if self.speed else None


class Meter:
    """Adds up what the lanes report and tells it on, one call at a time."""

    def __init__(
        self, files: int, size: int, progress: Callable[[Progress], None], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._files, self._size = files, size
        self._files_done = self._there = self._moved = 0
        self._trouble = ""
        self._progress, self._clock, self._lock = progress, clock, threading.Lock()
        self._samples: deque[tuple[float, int]] = deque([(clock(), 0)])

    def add(self, size: int, *, files: int = 0) -> None:
        """So many bytes more are through, or fewer when an attempt failed."""
        with self._lock:
            self._moved += size
            self._files_done += files
            if size > 0:
                self._trouble = ""
            self._sample()
            self._tell()

    def found(self, size: int) -> None:
        """So many bytes need not be moved: an earlier attempt has. They count as done, not for the speed."""
        with self._lock:
            self._there += size
            self._tell()

    def trouble(self, sentence: str) -> None:
        """Nothing moves, and why; forgotten with the next byte that does."""
        with self._lock:
            self._trouble = sentence
            self._tell()

    def _sample(self) -> None:
        now = self._clock()
        if now - self._samples[-1][0] >= SAMPLE_S:
            self._samples.append((now, self._moved))
        while len(self._samples) > 2 and now - self._samples[1][0] > WINDOW_S:
            self._samples.popleft()

    def _speed(self) -> float | None:
        (then, before), (now, moved) = self._samples[0], self._samples[-1]
        return (moved - before) / (now - then) if now > then and moved > before else None

    def _tell(self) -> None:
        done = self._there + self._moved
        self._progress(Progress(self._files, self._files_done, self._size, done, self._speed(), self._trouble))

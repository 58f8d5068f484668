"""Whether a training that runs gets anywhere, judged by what it shows: progress, a new phase, a line of its own in the log."""

import re
import threading
import time
from collections.abc import Callable, Sequence

from chalicelib.contracts.job import Phase
from chalicelib.contracts.worker import PhaseEvent, ProgressEvent, WorkerEvent

_OF_NVFLARE = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - nvflare\.")
_SHOWS_ITSELF = (PhaseEvent, ProgressEvent)


class Stillness:
    """Says once that a training has shown nothing for ``limit_s``, and once that it moves again. Safe in threads."""

    def __init__(self, limit_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit_s, self._clock = limit_s, clock
        self._lock = threading.Lock()
        self._training = False
        self._moved_at = clock()
        self._lines: tuple[str, ...] = ()
        self._told = False

    def hear(self, event: WorkerEvent) -> None:
        """Something came from the training process."""
        if not isinstance(event, _SHOWS_ITSELF):
            return
        with self._lock:
            if isinstance(event, PhaseEvent):
                self._training = event.phase is Phase.TRAINING
            self._moved_at = self._clock()

    def look(self, log: Sequence[str]) -> float | None:
        """Seconds of stillness when they have just become too many, 0.0 when it has just moved again, else None.

        ``log`` are the last lines of the training process; those that NVFLARE itself writes tell nothing.
        """
        lines = tuple(line for line in log if not _OF_NVFLARE.match(line))
        with self._lock:
            if lines != self._lines:
                self._lines, self._moved_at = lines, self._clock()
            quiet = self._clock() - self._moved_at if self._training else 0.0
            if (quiet > self._limit_s) is self._told:
                return None
            self._told = not self._told
            return quiet if self._told else 0.0

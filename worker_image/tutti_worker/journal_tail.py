"""What NVFLARE's processes wrote into the journal, as soon as it is there."""

import threading
from collections.abc import Callable
from pathlib import Path

from chalicelib.contracts.worker import WorkerEvent
from tutti_worker.federation.journal import read_events

_POLL_S = 0.1


class JournalTail:
    """Hands every event of the journal, in order and once, to ``on_event``."""

    def __init__(self, path: Path, on_event: Callable[[WorkerEvent], None]) -> None:
        self._path, self._on_event = path, on_event
        self._place = 0
        self._reading = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def finish(self) -> None:
        """Read what is there and stop following; does nothing when it was never started."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
            self.read_on()

    def read_on(self) -> None:
        """Read what has come since the last time."""
        with self._reading:
            events, self._place = read_events(self._path, self._place)
            for event in events:
                self._on_event(event)

    def _run(self) -> None:
        while not self._over.wait(_POLL_S):
            self.read_on()

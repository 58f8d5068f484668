"""Each round's model on its way to the bucket while the next round is trained."""

import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path

_APPEARS_WITHIN_S = 10.0
_KEPT = 2
"""The newest on the disk: the best model is still linked from one after its round is over."""


class RoundModels:
    """Uploads each round's model as it appears, in a thread of its own, and drops old ones once they are stored.

    ``put`` stores one file as the model of a round and raises when it cannot; ``warn`` hears a code and a sentence.
    """

    def __init__(self, folder: Path, put: Callable[[Path, int], None], warn: Callable[[str, str], None]) -> None:
        self._folder, self._put, self._warn = folder, put, warn
        self._waiting: queue.Queue[int | None] = queue.Queue()
        self._failed: list[int] = []
        self._stored: list[int] = []
        self._thread = threading.Thread(target=self._run, name="round-models", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def add(self, number: int) -> None:
        """A round was averaged: its model is there, or will be in a moment."""
        self._waiting.put(number)

    def finish(self) -> None:
        """Upload what is there, also what failed before, and stop; may be called twice, and before ``start``."""
        self._waiting.put(None)
        if self._thread.is_alive():
            self._thread.join()
        again, self._failed = self._failed, []
        for number in again:
            try:
                self._upload(number)
            except Exception as error:  # noqa: BLE001 - one model less stops nothing, it is said
                self._warn("round_model_missing", f"the model of round {number + 1} could not be stored: {error}")

    def _run(self) -> None:
        while (number := self._waiting.get()) is not None:
            try:
                self._upload(number)
            except Exception:  # noqa: BLE001 - the door of this thread: finish() tries again
                self._failed.append(number)

    def _upload(self, number: int) -> None:
        path = self._place(number)
        deadline = time.monotonic() + _APPEARS_WITHIN_S
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        self._put(path, number)
        self._stored = sorted({*self._stored, number})
        while len(self._stored) > _KEPT:
            self._place(self._stored.pop(0)).unlink(missing_ok=True)

    def _place(self, number: int) -> Path:
        return self._folder / f"round_{number}.pt"

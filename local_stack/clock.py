"""The clock of the laptop: once a second, where AWS has a schedule of a minute."""

import logging
import threading
from collections.abc import Callable

logger = logging.getLogger(__name__)


class Ticker:
    """Calls a function every ``period`` seconds from a thread of its own; an error is logged and the next turn comes."""

    def __init__(self, tick: Callable[[], None], period: float = 1.0) -> None:
        self._tick = tick
        self._period = period
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="clock", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the turn under way, within 10 s."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(10)

    def _run(self) -> None:
        while not self._stopped.wait(self._period):
            try:
                self._tick()
            except Exception:  # a door: the clock must go on
                logger.exception("a turn of the clock failed")

"""The clock of the laptop: once a second, where AWS has a schedule of a minute."""

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

logger = logging.getLogger(__name__)


_SLEPT = timedelta(seconds=30)
"""A longer gap between two turns means that the machine slept: nobody could be heard meanwhile."""


class Ticker:
    """Calls a function every ``period`` seconds from a thread of its own; an error is logged and the next turn comes.

    The function is told since when this process has been listening without a break.
    """

    def __init__(self, tick: Callable[[datetime], None], period: float = 1.0) -> None:
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
        since = last = datetime.now(UTC)
        while not self._stopped.wait(self._period):
            now = datetime.now(UTC)
            since, last = (now if now - last > _SLEPT else since), now
            try:
                self._tick(since)
            except Exception:  # a door: the clock must go on
                logger.exception("a turn of the clock failed")

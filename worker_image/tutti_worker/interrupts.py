"""The main thread's interruptions: a signal, a command of the platform, or a fault in another thread."""

import os
import signal
from collections.abc import Callable
from types import FrameType

from tutti_worker.trouble import Leave, Stopped


class Interrupts:
    """Raises a reason to leave in the main thread, wherever it is; once, and not any more after ``ignore``."""

    def __init__(self) -> None:
        self._reason: BaseException | None = None
        self._done = False
        self._on_late: Callable[[], None] = lambda: None

    def install(self) -> None:
        """Take SIGTERM and SIGINT; call from the main thread."""
        for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            signal.signal(signum, self._handle)

    def leave(self, reason: BaseException) -> None:
        """Have the main thread leave for this reason; from any thread. The first reason counts."""
        if self._reason is None:
            self._reason = reason
        os.kill(os.getpid(), signal.SIGUSR1)

    def ignore(self, on_late: Callable[[], None] = lambda: None) -> None:
        """From now on nothing is raised: the worker is leaving already. ``on_late`` hears
        of the first SIGTERM or SIGINT to come."""
        self._on_late = on_late
        self._done = True

    def _handle(self, signum: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the shape of a handler
        if self._done:
            if signum != signal.SIGUSR1:
                on_late, self._on_late = self._on_late, lambda: None
                on_late()
            return
        self._done = True
        raise self._reason if self._reason is not None else Stopped(signal.Signals(signum).name)


def exit_code_of(reason: BaseException) -> int:
    """What the worker's starter sees."""
    return reason.exit_code if isinstance(reason, Leave) else 1

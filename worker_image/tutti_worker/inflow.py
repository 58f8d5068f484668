"""What one pipe brings: taken off at once, so that whoever writes never waits for what is done with it."""

import contextlib
import fcntl
import os
import threading
from collections.abc import Callable

from tutti_worker.log_lines import Lines, LogLine

BACKLOG_BYTES = 4 << 20
_PORTION = 64 << 10
_PIPE_BYTES = 1 << 20


class Inflow:
    """Reads a pipe until its last writer is gone and hands on its lines, in order, from a thread of its own.

    When ``take`` is slower than the writers, the oldest half of what waits is dropped unread and ``lost`` hears how many lines
    that was, before ``take`` gets the next ones.
    """

    def __init__(
        self, descriptor: int, title: str, lines: Lines, take: Callable[[list[LogLine]], None], lost: Callable[[int], None]
    ) -> None:
        self._descriptor, self._lines, self._take, self._lost = descriptor, lines, take, lost
        self._changed = threading.Condition()
        self._waiting = bytearray()
        self._dropped = 0
        self._cut = self._ended = False
        self._reader = threading.Thread(target=self._read, name=f"log-{title}", daemon=True)
        self._handler = threading.Thread(target=self._hand_on, name=f"lines-{title}", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        with contextlib.suppress(OSError, AttributeError):
            fcntl.fcntl(self._descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)  # not everywhere; the default holds less
        self._reader.start()
        self._handler.start()

    def rest(self) -> bytes:
        """The newest of what came and was not handed on yet."""
        with self._changed:
            return bytes(self._waiting[-_PORTION:])

    def finish(self, writers_s: float, all_s: float) -> None:
        """Wait so long for the last writer to go, then hand on what has come, for ``all_s`` in all at most."""
        self._reader.join(writers_s)
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._handler.join(max(0.0, all_s - writers_s))

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(self._descriptor, _PIPE_BYTES):
                with self._changed:
                    self._waiting += data
                    self._bound()
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _bound(self) -> None:
        over = len(self._waiting) - BACKLOG_BYTES
        if over > 0:
            cut = len(self._waiting) - BACKLOG_BYTES // 2
            self._dropped += self._waiting.count(b"\n", 0, cut)
            del self._waiting[:cut]
            self._cut = True

    def _hand_on(self) -> None:
        while (portion := self._next()) is not None:
            data, dropped, cut = portion
            if cut:  # the line that was begun has lost its end, and the first of what follows its beginning
                begun = self._lines.finish()
                self._take(begun)
                self._lost(dropped + 1 - len(begun))
                data = data.partition(b"\n")[2]
            self._take(self._lines.feed(data))
        self._take(self._lines.finish())

    def _next(self) -> tuple[bytes, int, bool] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended)
            if not self._waiting:
                return None
            data = bytes(self._waiting[:_PORTION])
            del self._waiting[:_PORTION]
            dropped, cut, self._dropped, self._cut = self._dropped, self._cut, 0, False
            return data, dropped, cut

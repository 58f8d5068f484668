"""What NVFLARE and the user's code print, shipped in segments while it happens."""

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable

from tutti_worker.log_lines import Lines, LogLine

SEGMENT_BYTES = 256 << 10
SEGMENT_AGE_S = 2.0
_HELD_BYTES = 8 << 20
_TAIL = 200

Ship = Callable[[int, bytes, int], None]
"""(segment number, NDJSON, lines) → stored; raises when it cannot be."""


class LogBook:
    """Collects lines from pipes and ships them as numbered segments, every two seconds or 256 KB.

    Memory is bounded, and so is what is shipped: when shipping falls behind or the budget is spent, the oldest lines are
    dropped and a line says how many. The lines of a segment that could not be stored count as dropped.
    """

    def __init__(self, ship: Ship, *, secrets: tuple[str, ...] = (), budget: "Budget | None" = None) -> None:
        self._ship, self._secrets = ship, secrets
        self._budget = budget or Budget()
        self._changed = threading.Condition()
        self._lines: deque[tuple[bytes, int]] = deque()
        self._held = 0
        self._dropped = 0
        self._oldest = 0.0
        self._number = 0
        self._closed = False
        self._tails: dict[str, deque[str]] = {}
        self._readers: list[threading.Thread] = []
        self._shipper = threading.Thread(target=self._ship_all, name="log-shipper", daemon=True)
        self._shipping = False

    def start(self) -> None:
        """Begin to ship."""
        self._shipper.start()

    def read(self, descriptor: int, title: str) -> None:
        """Collect what arrives on a pipe until its last writer is gone; ``title`` names it for ``tail``."""
        reader = threading.Thread(target=self._read, args=(descriptor, title), name=f"log-{title}", daemon=True)
        self._readers.append(reader)
        reader.start()

    def add(self, line: LogLine) -> None:
        """Add one line of the supervisor's own."""
        self._take([line])

    def tail(self, title: str) -> list[str]:
        """The last lines of a pipe."""
        with self._changed:
            return list(self._tails.get(title, ()))

    def finish(self, timeout_s: float) -> bool:
        """Ship what there is; False when that took too long. Call after the writers have ended."""
        deadline = time.monotonic() + timeout_s
        for reader in self._readers:
            reader.join(max(0.0, min(1.0, deadline - time.monotonic())))
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._shipper.join(max(0.0, deadline - time.monotonic()))
        return not self._shipper.is_alive()

    def flush(self, timeout_s: float) -> bool:
        """Ship what there is now and go on collecting; False when that took too long."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            self._oldest = 0.0
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not self._lines and not self._shipping, max(0.0, deadline - time.monotonic()))

    def _read(self, descriptor: int, title: str) -> None:
        lines = Lines(self._secrets)
        with contextlib.suppress(OSError):
            while data := os.read(descriptor, 1 << 16):
                self._take(lines.feed(data), title)
        self._take(lines.finish(), title)

    def _take(self, lines: list[LogLine], title: str = "") -> None:
        with self._changed:
            tail = self._tails.setdefault(title, deque(maxlen=_TAIL))
            for line in lines:
                tail.append(line.text)
                self._hold(line.as_json())
            if lines:
                self._changed.notify_all()

    def _hold(self, packed: bytes) -> None:
        if not self._lines:
            self._oldest = time.monotonic()
        self._lines.append((packed, 1))
        self._held += len(packed)
        while self._held > _HELD_BYTES:
            self._held -= len(self._lines.popleft()[0])
            self._dropped += 1

    def _ship_all(self) -> None:
        while (segment := self._next_segment()) is not None:
            body, lines, told = segment
            stored = self._stored(body, lines)
            with self._changed:
                self._dropped += 0 if stored else told
                self._shipping = False
                self._changed.notify_all()

    def _stored(self, body: bytes, lines: int) -> bool:
        try:
            self._ship(self._number + 1, body, lines)
        except Exception:  # noqa: BLE001 - whatever it was, the next segment says that lines are missing
            return False
        self._number += 1
        return True

    def _next_segment(self) -> tuple[bytes, int, int] | None:
        with self._changed:
            while not self._due():
                if self._closed and not self._lines:
                    return None
                self._changed.wait(self._wait_s())
            self._shipping = True
            return self._cut()

    def _due(self) -> bool:
        if not self._lines:
            return False
        if not self._closed and self._budget.wait_s() > 0:
            return False
        return self._closed or self._held >= SEGMENT_BYTES or time.monotonic() - self._oldest >= SEGMENT_AGE_S

    def _wait_s(self) -> float | None:
        if not self._lines:
            return None
        return max(0.01, self._oldest + SEGMENT_AGE_S - time.monotonic(), self._budget.wait_s())

    def _cut(self) -> tuple[bytes, int, int]:
        """The body, its lines, and how many lines of the log it accounts for: those in it and those it says are dropped."""
        parts: list[bytes] = []
        size, dropped, self._dropped = 0, self._dropped, 0
        if dropped:
            parts.append(_gap(dropped))
        while self._lines and (not parts or size + len(self._lines[0][0]) <= SEGMENT_BYTES):
            packed, _ = self._lines.popleft()
            self._held -= len(packed)
            size += len(packed)
            parts.append(packed)
        self._oldest = time.monotonic() - SEGMENT_AGE_S if self._held >= SEGMENT_BYTES else time.monotonic()
        self._budget.spend(size)
        return b"".join(parts), len(parts), len(parts) - bool(dropped) + dropped


class Budget:
    """Bytes that may be shipped: ``burst`` at once, ``rate`` more each second. Not safe to share between threads."""

    def __init__(self, burst: int = 64 << 20, rate: float = 1 << 20, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst, self._rate, self._clock = burst, rate, clock
        self._left, self._at = float(burst), clock()

    def wait_s(self) -> float:
        """How long until something may be shipped."""
        self._fill()
        return max(0.0, -self._left / self._rate)

    def spend(self, size: int) -> None:
        """That much is shipped; one segment may go over."""
        self._fill()
        self._left -= size

    def _fill(self) -> None:
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now


def own_line(text: str, level: str = "info") -> LogLine:
    """A line of the supervisor's own."""
    from datetime import UTC, datetime

    return LogLine(datetime.now(UTC).isoformat(timespec="milliseconds"), level, text)


def _gap(dropped: int) -> bytes:
    said = f"[{dropped} lines dropped: the log came faster than it is stored, or a part of it could not be stored]"
    return own_line(said, "warning").as_json()

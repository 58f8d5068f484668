"""What NVFLARE and the user's code print, shipped in segments while it happens."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from chalicelib.contracts.masking import masker
from tutti_worker.inflow import Inflow
from tutti_worker.log_lines import Lines, LogLine

SEGMENT_BYTES = 256 << 10
SEGMENT_AGE_S = 2.0
_HELD_BYTES = 8 << 20
_LAST_BYTES_A_SECOND = 1 << 20
"""How much is shipped at the end for each second there is: of what cannot all be shipped, the last lines count."""
_TAIL = 200

Ship = Callable[[int, bytes, int], None]
"""(segment number, NDJSON, lines) → stored; raises when it cannot be."""


class LogBook:
    """Collects lines from pipes and ships them as numbered segments, every two seconds or 256 KB.

    Whoever writes into a pipe is never held up. Memory is bounded, and so is what is shipped: when lines come faster than they
    are stored, or the budget is spent, the oldest are dropped and a line in their place says how many; the last before the end
    are kept. The lines of a segment that could not be stored count as dropped.
    """

    def __init__(self, ship: Ship, *, secrets: tuple[str, ...] = (), budget: "Budget | None" = None) -> None:
        self._ship, self._secrets = ship, secrets
        self._mask = masker(secrets)
        self._budget = budget or Budget()
        self._changed = threading.Condition()
        self._lines: deque[tuple[bytes, int]] = deque()  # each with how many lines of the log it stands for
        self._held = 0
        self._dropped = 0
        self._oldest = 0.0
        self._number = 0
        self._ending = self._closed = False
        self._tails: dict[str, deque[str]] = {}
        self._inflows: dict[str, list[Inflow]] = {}
        self._shipper = threading.Thread(target=self._ship_all, name="log-shipper", daemon=True)
        self._shipping = False

    def start(self) -> None:
        """Begin to ship."""
        self._shipper.start()

    def read(self, descriptor: int, title: str) -> None:
        """Collect what arrives on a pipe until its last writer is gone; ``title`` names it for ``tail``."""
        inflow = Inflow(descriptor, title, Lines(self._secrets), lambda lines: self._take_slowly(lines, title), self._note_lost)
        self._inflows.setdefault(title, []).append(inflow)
        inflow.start()

    def add(self, line: LogLine) -> None:
        """Add one line of the supervisor's own; it may quote an exception, and that a URL."""
        self._take([replace(line, text=self._mask(line.text))])

    def tail(self, title: str) -> list[str]:
        """The last lines of a pipe, those included that were read and not looked at yet."""
        with self._changed:
            known = list(self._tails.get(title, ()))
        for inflow in self._inflows.get(title, ()):
            lines = Lines(self._secrets)
            known += [line.text for line in (*lines.feed(inflow.rest()), *lines.finish())]
        return known[-_TAIL:]

    def finish(self, timeout_s: float) -> bool:
        """Ship what there is; False when that took too long. Call after the writers have ended."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        for inflow in [each for several in self._inflows.values() for each in several]:
            left = max(0.0, deadline - time.monotonic())
            inflow.finish(min(1.0, left), left / 2)
        with self._changed:
            self._drop_above(max(SEGMENT_BYTES, int(timeout_s * _LAST_BYTES_A_SECOND)))
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

    def _take_slowly(self, lines: list[LogLine], title: str) -> None:
        """Take them, and the next ones not before some of them can be shipped: to look at lines that can only be dropped costs
        the training its processor."""
        self._take(lines, title)
        with self._changed:
            while not self._ending and self._held > _HELD_BYTES // 2 and self._budget.wait_s() > 0:
                self._changed.wait(0.5)

    def _take(self, lines: list[LogLine], title: str = "") -> None:
        packed = [line.as_json() for line in lines]
        with self._changed:
            tail = self._tails.setdefault(title, deque(maxlen=_TAIL))
            tail.extend(line.text for line in lines)
            for one in packed:
                self._hold(one, 1)
            if lines:
                self._changed.notify_all()

    def _note_lost(self, lines: int) -> None:
        with self._changed:
            self._hold(_gap(lines), lines)

    def _hold(self, packed: bytes, told: int) -> None:
        if not self._lines:
            self._oldest = time.monotonic()
        self._lines.append((packed, told))
        self._held += len(packed)
        self._drop_above(_HELD_BYTES)

    def _drop_above(self, most: int) -> None:
        while self._held > most:
            packed, told = self._lines.popleft()
            self._held -= len(packed)
            self._dropped += told

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
        size, told, self._dropped = 0, self._dropped, 0
        if told:
            parts.append(_gap(told))
        while self._lines and (not parts or size + len(self._lines[0][0]) <= SEGMENT_BYTES):
            packed, stands_for = self._lines.popleft()
            self._held -= len(packed)
            size += len(packed)
            told += stands_for
            parts.append(packed)
        self._oldest = time.monotonic() - SEGMENT_AGE_S if self._held >= SEGMENT_BYTES else time.monotonic()
        self._budget.spend(size)
        return b"".join(parts), len(parts), told


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

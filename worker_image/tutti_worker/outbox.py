"""Events on their way to the platform: numbered, in order, resent until they are stored."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice

from chalicelib.contracts.worker import (
    Command,
    EventAnswer,
    EventBatch,
    HeartbeatEvent,
    ProgressEvent,
    WorkerEvent,
)

PORTION = 100
_NO_PROGRESS_PAUSE_S = 1.0


class Outbox:
    """Takes events from any thread; a thread of its own posts them and never loses or reorders one.

    ``post`` hands a batch over; ``on_commands`` is told what the platform asks; ``on_error`` gets what ``post`` raised,
    after which nothing more is sent.
    """

    def __init__(
        self,
        post: Callable[[EventBatch], EventAnswer],
        *,
        attempt: int,
        heartbeat_s: float,
        on_commands: Callable[[tuple[Command, ...]], None],
        on_error: Callable[[BaseException], None],
    ) -> None:
        self._post, self._attempt, self._heartbeat_s = post, attempt, heartbeat_s
        self._on_commands, self._on_error = on_commands, on_error
        self._changed = threading.Condition()
        self._waiting: deque[WorkerEvent] = deque()
        self._accepted = 0
        self._sent = 0
        self._progress: ProgressEvent | None = None
        self._progress_due = 0.0
        self._call_at = 0.0
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="outbox", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._call_at = time.monotonic() + self._heartbeat_s
        self._thread.start()

    def put(self, *events: WorkerEvent) -> None:
        """Queue events. Of several Progress events within half a second only the last is sent."""
        with self._changed:
            for event in events:
                self._take(event)
            self._changed.notify_all()

    def flush(self, timeout_s: float) -> bool:
        """Wait until everything queued so far is stored; False when that took too long or sending has ended."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            self._progress_due = 0.0
            self._changed.notify_all()
            while (self._waiting or self._progress) and not self._closed:
                if not self._changed.wait(max(0.0, deadline - time.monotonic())):
                    return False
            return not self._waiting

    def close(self) -> None:
        """Stop sending; what is queued is lost."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _take(self, event: WorkerEvent) -> None:
        if isinstance(event, ProgressEvent):
            if self._progress is None:
                self._progress_due = max(self._progress_due, time.monotonic())
            self._progress = event
            return
        self._release_progress()
        self._waiting.append(event)

    def _release_progress(self) -> None:
        if self._progress is not None:
            self._waiting.append(self._progress)
            self._progress, self._progress_due = None, time.monotonic() + 0.5

    def _run(self) -> None:
        try:
            while (batch := self._next_batch()) is not None:
                self._settle(self._post(batch))
        except BaseException as error:  # noqa: BLE001 - the door of this thread: the main thread decides
            self.close()
            self._on_error(error)

    def _next_batch(self) -> EventBatch | None:
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                if self._progress is not None and now >= self._progress_due:
                    self._release_progress()
                if not self._waiting and now >= self._call_at:
                    self._waiting.append(HeartbeatEvent())
                if self._waiting:
                    return self._batch(self._waiting)
                self._changed.wait(max(0.0, self._wake_at() - now))
            return None

    def _wake_at(self) -> float:
        return min(self._call_at, self._progress_due) if self._progress is not None else self._call_at

    def _batch(self, events: Iterable[WorkerEvent]) -> EventBatch:
        portion = tuple(islice(events, PORTION))
        self._sent = len(portion)
        return EventBatch(attempt=self._attempt, seq=self._accepted + 1, events=portion)

    def _settle(self, answer: EventAnswer) -> None:
        with self._changed:
            stored = self._strike_out(answer.accepted_seq)
            self._call_at = time.monotonic() + min(answer.next_in_ms / 1000, self._heartbeat_s)
            self._changed.notify_all()
            if not stored and not answer.commands:
                self._changed.wait(_NO_PROGRESS_PAUSE_S)
        if answer.commands:
            self._on_commands(answer.commands)

    def _strike_out(self, accepted_seq: int) -> bool:
        if accepted_seq > self._accepted + self._sent:
            # An earlier life of this worker used these numbers: go on behind them and send the events again.
            self._accepted = accepted_seq
            return True
        stored = max(0, min(accepted_seq - self._accepted, len(self._waiting)))
        for _ in range(stored):
            self._waiting.popleft()
        self._accepted += stored
        return stored > 0

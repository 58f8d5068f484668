"""Events on their way to the platform."""

import threading
from collections.abc import Callable

from tutti_worker.outbox import Outbox

from chalicelib.contracts.worker import (
    Command,
    EventAnswer,
    EventBatch,
    HeartbeatEvent,
    PhaseEvent,
    ProgressEvent,
    WorkerEvent,
)
from tests.worker.builders import eventually


class Post:
    """The platform's end: keeps what it accepts, forgets or fails when told."""

    def __init__(self, *, accepts: Callable[[EventBatch, int], int] | None = None, next_in_ms: int = 60_000) -> None:
        self.batches: list[EventBatch] = []
        self.stored: list[WorkerEvent] = []
        self._accepts, self._next_in_ms = accepts, next_in_ms
        self.commands: tuple[Command, ...] = ()
        self.open = threading.Event()
        self.open.set()

    def __call__(self, batch: EventBatch) -> EventAnswer:
        self.open.wait(10)
        self.batches.append(batch)
        count = self._accepts(batch, len(self.batches)) if self._accepts else len(batch.events)
        for number, event in enumerate(batch.events[:count], start=batch.seq):
            if number == len(self.stored) + 1:
                self.stored.append(event)
        return EventAnswer(accepted_seq=len(self.stored), commands=self.commands, next_in_ms=self._next_in_ms)


def outbox(post: Callable[[EventBatch], EventAnswer], *, heartbeat_s: float = 60.0) -> tuple[Outbox, list[object]]:
    heard: list[object] = []
    made = Outbox(post, attempt=1, heartbeat_s=heartbeat_s, on_commands=heard.append, on_error=heard.append)
    made.start()
    return made, heard


def events(count: int) -> list[PhaseEvent]:
    return [PhaseEvent(phase="training", detail=str(number)) for number in range(count)]


def test_events_arrive_in_order_in_portions_of_a_hundred() -> None:
    post = Post()
    post.open.clear()
    box, _ = outbox(post)
    box.put(*events(1))
    box.put(*events(250))
    post.open.set()
    assert box.flush(10)
    assert [event.detail for event in post.stored] == ["0", *map(str, range(250))]  # type: ignore[union-attr]
    assert max(len(batch.events) for batch in post.batches) == 100
    box.close()


def test_what_the_platform_did_not_store_is_sent_again_with_the_same_number() -> None:
    post = Post(accepts=lambda batch, call: 1 if call == 1 else len(batch.events))
    post.open.clear()
    box, _ = outbox(post)
    box.put(*events(3))
    post.open.set()
    assert box.flush(10)
    assert [event.detail for event in post.stored] == ["0", "1", "2"]  # type: ignore[union-attr]
    assert post.batches[-1].seq == 2
    box.close()


def test_an_answer_that_was_lost_loses_and_doubles_nothing() -> None:
    post = Post()
    lost = threading.Event()

    def losing(batch: EventBatch) -> EventAnswer:
        answer = post(batch)
        if not lost.is_set():
            lost.set()
            return answer.model_copy(update={"accepted_seq": batch.seq - 1})
        return answer

    box, _ = outbox(losing)
    box.put(*events(2))
    assert box.flush(10)
    assert [event.detail for event in post.stored] == ["0", "1"]  # type: ignore[union-attr]
    box.close()


def test_numbers_an_earlier_life_has_used_are_skipped() -> None:
    post = Post()
    post.stored = [HeartbeatEvent()] * 7
    box, _ = outbox(post)
    box.put(*events(2))
    assert box.flush(10)
    assert len(post.stored) == 9
    box.close()


def test_a_heartbeat_is_sent_when_nothing_else_is() -> None:
    post = Post()
    box, _ = outbox(post, heartbeat_s=0.1)
    assert eventually(lambda: len(post.stored) >= 2)
    assert isinstance(post.stored[0], HeartbeatEvent)
    box.close()


def test_the_platform_may_ask_for_an_earlier_call() -> None:
    post = Post(next_in_ms=50)
    box, _ = outbox(post, heartbeat_s=60.0)
    box.put(*events(1))
    assert eventually(lambda: any(isinstance(event, HeartbeatEvent) for event in post.stored))
    box.close()


def test_of_a_burst_of_progress_only_the_first_and_the_last_are_sent() -> None:
    post = Post()
    box, _ = outbox(post)
    for step in range(1, 50):
        box.put(ProgressEvent(round=0, step=step, of=50))
    assert eventually(lambda: bool(post.stored) and post.stored[-1].step == 49)  # type: ignore[union-attr]
    assert len(post.stored) <= 3
    box.close()


def test_progress_never_overtakes_what_follows_it() -> None:
    post = Post()
    box, _ = outbox(post)
    box.put(ProgressEvent(round=0, step=1), ProgressEvent(round=0, step=2), *events(1))
    assert box.flush(10)
    assert [event.type for event in post.stored][-2:] == ["progress", "phase"]
    box.close()


def test_commands_reach_the_worker() -> None:
    post = Post()
    post.commands = (Command.STOP,)
    box, heard = outbox(post)
    box.put(*events(1))
    assert eventually(lambda: heard == [(Command.STOP,)])
    box.close()


def test_a_post_that_fails_for_good_ends_sending_and_is_told() -> None:
    def refuse(batch: EventBatch) -> EventAnswer:
        raise PermissionError("gone")

    box, heard = outbox(refuse)
    box.put(*events(1))
    assert eventually(lambda: len(heard) == 1 and isinstance(heard[0], PermissionError))
    assert not box.flush(0.5)

"""Signals of the main thread."""

import os
import signal
from collections.abc import Iterator

import pytest
from tutti_worker.interrupts import Interrupts
from tutti_worker.trouble import Stopped


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    taken = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
    before = [signal.getsignal(signum) for signum in taken]
    made = Interrupts()
    made.install()
    yield made
    for signum, handler in zip(taken, before, strict=True):
        signal.signal(signum, handler)


def test_a_signal_is_raised_once(interrupts: Interrupts) -> None:
    with pytest.raises(Stopped):
        os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)


def test_a_signal_that_comes_while_the_worker_leaves_is_heard_once(interrupts: Interrupts) -> None:
    heard: list[str] = []
    interrupts.ignore(lambda: heard.append("late"))
    interrupts.leave(Stopped("a fault of another thread"))
    assert heard == []
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
    assert heard == ["late"]

"""The nursery is there while workers run, and at no other time."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from local_stack.nursery import Nursery

pytestmark = pytest.mark.process

STAND_IN = """
import socket, sys, time
door = socket.socket(socket.AF_UNIX)
door.bind(sys.argv[1])
time.sleep(600)
"""


def eventually(holds: Callable[[], bool], within_s: float = 30) -> bool:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.05)
    return False


def lives(nursery: Nursery) -> bool:
    """Whether a process serves this nursery's socket."""
    for child in psutil.Process().children():
        try:
            if str(nursery.socket) in child.cmdline():
                return True
        except psutil.NoSuchProcess:
            continue
    return False


@pytest.fixture(name="nursery")
def idle_nursery(tmp_path: Path) -> Iterator[Nursery]:
    """A nursery of a stand-in process, with no worker running and little patience."""
    made = Nursery(tmp_path, (sys.executable, "-c", STAND_IN), {}, busy=lambda: False, idle_s=1)
    made.start()
    yield made
    made.close()


def test_no_nursery_lives_before_a_worker_starts(nursery: Nursery) -> None:
    assert not lives(nursery)


def test_a_wanted_nursery_has_its_socket(nursery: Nursery) -> None:
    assert nursery.want().exists()


def test_a_nursery_leaves_when_nothing_has_run_for_a_while(nursery: Nursery) -> None:
    nursery.want()
    assert eventually(lambda: not lives(nursery))


def test_a_nursery_stays_while_workers_run(tmp_path: Path) -> None:
    made = Nursery(tmp_path, (sys.executable, "-c", STAND_IN), {}, busy=lambda: True, idle_s=0.1)
    made.start()
    made.want()
    time.sleep(5)
    stayed = lives(made)
    made.close()
    assert stayed


def test_a_nursery_that_left_comes_back_when_it_is_wanted(nursery: Nursery) -> None:
    nursery.want()
    assert eventually(lambda: not lives(nursery))
    assert eventually(lambda: nursery.want().exists())


def test_closing_ends_the_nursery(tmp_path: Path) -> None:
    made = Nursery(tmp_path, (sys.executable, "-c", STAND_IN), {}, busy=lambda: True)
    made.start()
    made.want()
    made.close()
    assert not lives(made)


def test_a_nursery_that_cannot_start_holds_nobody_up_for_long(tmp_path: Path) -> None:
    made = Nursery(tmp_path, ("/nonexistent/program",), {}, busy=lambda: False)
    made.start()
    began = time.monotonic()
    made.want()
    took = time.monotonic() - began
    made.close()
    assert took < 20


def test_a_socket_that_needs_a_shorter_place_has_the_same_one_at_every_start(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    first, second = (Nursery(deep, (sys.executable, "-c", STAND_IN), {}, busy=lambda: False) for _ in range(2))
    assert first.socket == second.socket
    assert first.socket.parent != deep


def test_closing_leaves_nothing_in_the_place_for_temporary_files(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    made = Nursery(deep, (sys.executable, "-c", STAND_IN), {}, busy=lambda: True)
    made.start()
    assert made.want().exists()
    made.close()
    assert not made.socket.parent.exists()

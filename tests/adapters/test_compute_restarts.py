"""What the laptop's Compute promises when the stack is killed and comes back."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_stack.process_tree import members
from tests.adapters.laptop import (
    A_STACK,
    PROJECT,
    STUBBORN,
    Laptop,
    a_laptop,
    ended,
    eventually,
    forget_the_process,
)

pytestmark = pytest.mark.process


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[Laptop]:
    with a_laptop(tmp_path / "workers") as laptop:
        yield laptop


def test_a_restarted_stack_takes_over_the_workers_that_run(laptop: Laptop) -> None:
    laptop.compute()
    first = laptop.open[0]
    handle = laptop.start(first)
    first.close()
    second = laptop.compute()
    assert (list(second.reattach()), second.gone(handle)) == ([handle], False)


def test_a_worker_outlives_the_killed_stack_that_started_it(laptop: Laptop) -> None:
    laptop.handles.append("job-1/1/site-1")
    stack = subprocess.Popen([sys.executable, "-c", A_STACK, str(laptop.work)], cwd=PROJECT)
    eventually(laptop.is_up)
    stack.kill()
    stack.wait()
    compute = laptop.compute()
    compute.reattach()
    compute.stop("job-1/1/site-1")
    assert ended(laptop, compute, "job-1/1/site-1") == [7]


def test_a_restarted_stack_starts_no_second_process(laptop: Laptop) -> None:
    first = laptop.compute()
    laptop.start(first)
    worker = laptop.worker().pid
    first.close()
    second = laptop.compute()
    second.reattach()
    laptop.start(second)
    assert laptop.worker().pid == worker


def test_a_restarted_stack_hears_of_ends_to_come(laptop: Laptop) -> None:
    first = laptop.compute()
    handle = laptop.start(first)
    worker = laptop.worker()
    first.close()
    second = laptop.compute()
    second.reattach()
    worker.kill()
    assert ended(laptop, second, handle) == [-signal.SIGKILL]


def test_an_end_that_no_stack_saw_is_told_by_the_next(laptop: Laptop) -> None:
    first = laptop.compute()
    handle = laptop.start(first)
    worker = laptop.worker()
    first.close()
    worker.kill()
    eventually((laptop.folder() / "status.json").exists)
    second = laptop.compute()
    second.reattach()
    assert ended(laptop, second, handle) == [-signal.SIGKILL]


def test_an_end_is_told_once_over_many_restarts(laptop: Laptop) -> None:
    first = laptop.compute("raise SystemExit(5)")
    laptop.start(first)
    first.close()
    for _ in range(3):
        next_one = laptop.compute()
        next_one.reattach()
        eventually((laptop.folder() / "ended.json").exists)
        next_one.close()
    assert [end.status for end in laptop.exits] == [5]


def test_a_stop_is_carried_through_by_the_next_stack(laptop: Laptop) -> None:
    first = laptop.compute(STUBBORN, kill_after=1.0)
    handle = laptop.start(first)
    eventually(laptop.is_up)
    first.stop(handle)
    first.close()
    second = laptop.compute()
    second.reattach()
    assert ended(laptop, second, handle) == [-signal.SIGKILL]


def test_a_stack_that_died_before_it_noted_the_process_finds_it_again(laptop: Laptop) -> None:
    first = laptop.compute()
    handle = laptop.start(first)
    laptop.worker()
    first.close()
    forget_the_process(laptop)
    second = laptop.compute()
    assert list(second.reattach()) == [handle]


def test_a_stack_that_died_before_it_noted_the_process_hears_how_it_ended(laptop: Laptop) -> None:
    first = laptop.compute("raise SystemExit(6)")
    handle = laptop.start(first)
    first.close()
    eventually(lambda: members(handle, session=None) == [])
    forget_the_process(laptop)
    second = laptop.compute()
    second.reattach()
    assert ended(laptop, second, handle) == [6]


def test_a_worker_that_was_only_announced_is_forgotten(laptop: Laptop) -> None:
    folder = laptop.folder()
    (folder / "work").mkdir(parents=True)
    (folder / "process.json").write_text(json.dumps({"job_id": "job-1", "attempt": 1, "site": "site-1"}))
    compute = laptop.compute()
    assert (list(compute.reattach()), folder.exists()) == ([], False)


def test_a_process_that_got_the_number_of_a_dead_shim_is_left_alone(laptop: Laptop) -> None:
    folder = laptop.folder()
    (folder / "work").mkdir(parents=True)
    stranger = {"job_id": "job-1", "attempt": 1, "site": "site-1", "pid": os.getpid(), "started": 1.0, "kill_at": 1.0}
    (folder / "process.json").write_text(json.dumps(stranger))
    compute = laptop.compute()
    compute.reattach()
    assert ended(laptop, compute, "job-1/1/site-1") == [None]

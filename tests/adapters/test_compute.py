"""What the laptop's Compute promises of a start, a stop and an end, with real processes."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from chalicelib.domain.errors import NoCapacity
from chalicelib.ports import WorkerExit
from local_stack.process_tree import members
from tests.adapters.laptop import (
    LEAVES_A_CHILD,
    POLITE,
    STUBBORN,
    WITH_A_CHILD,
    Laptop,
    a_laptop,
    ended,
    eventually,
    wake_ups_of_the_watch,
)

pytestmark = pytest.mark.process


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[Laptop]:
    with a_laptop(tmp_path / "workers") as laptop:
        yield laptop


@pytest.mark.parametrize("status", [0, 3])
def test_an_exit_status_is_told(laptop: Laptop, status: int) -> None:
    compute = laptop.compute(f"raise SystemExit({status})")
    laptop.start(compute)
    eventually(lambda: laptop.exits == [WorkerExit("job-1", 1, "site-1", status)])


def test_a_death_by_signal_is_told_as_a_negative_status(laptop: Laptop) -> None:
    compute = laptop.compute()
    handle = laptop.start(compute)
    laptop.worker().kill()
    assert ended(laptop, compute, handle) == [-signal.SIGKILL]


def test_a_worker_that_cannot_be_started_by_its_shim_ends_with_127(laptop: Laptop) -> None:
    compute = laptop.compute(program="/no/such/program")
    assert ended(laptop, compute, laptop.start(compute)) == [127]


def test_a_python_that_is_not_there_is_no_capacity(laptop: Laptop) -> None:
    compute = laptop.compute(python="/no/such/python")
    with pytest.raises(NoCapacity, match="job-1/1/site-1"):
        laptop.start(compute)


def test_a_start_that_failed_can_be_tried_again(laptop: Laptop) -> None:
    broken, compute = laptop.compute(python="/no/such/python"), laptop.compute()
    with pytest.raises(NoCapacity):
        laptop.start(broken)
    assert not compute.gone(laptop.start(compute))


def test_the_same_start_again_gives_the_handle_of_the_one_running(laptop: Laptop) -> None:
    compute = laptop.compute()
    assert laptop.start(compute) == laptop.start(compute)
    laptop.worker()  # once it runs: at the instant of its exec a process has no environment to be known by yet
    assert len([p for p in members(laptop.handles[0], session=None) if p.ppid() == os.getpid()]) == 1


def test_a_worker_that_has_ended_is_not_started_again_in_its_attempt(laptop: Laptop) -> None:
    compute = laptop.compute("raise SystemExit(1)")
    laptop.start(compute)
    eventually((laptop.folder() / "ended.json").exists)
    assert compute.gone(laptop.start(compute))


def test_workers_of_one_job_have_folders_of_their_own(laptop: Laptop) -> None:
    compute = laptop.compute("open('mine', 'w').close(); import time; time.sleep(600)")
    laptop.start(compute, "site-1")
    laptop.start(compute, "site-2")
    eventually(lambda: all((laptop.folder(site) / "work" / "mine").exists() for site in ("site-1", "site-2")))


def test_what_a_worker_prints_is_kept(laptop: Laptop) -> None:
    compute = laptop.compute("import sys; print('to out'); print('to err', file=sys.stderr)")
    ended(laptop, compute, laptop.start(compute))
    assert sorted((laptop.folder() / "output.log").read_text().splitlines()) == ["to err", "to out"]


def test_the_scratch_of_a_worker_is_removed_at_its_end(laptop: Laptop) -> None:
    compute = laptop.compute("open('big', 'w').close()")
    ended(laptop, compute, laptop.start(compute))
    assert not (laptop.folder() / "work").exists()


def test_a_stopped_worker_may_leave_in_order(laptop: Laptop) -> None:
    compute = laptop.compute(POLITE)
    handle = laptop.start(compute)
    eventually(laptop.is_up)
    compute.stop(handle)
    assert ended(laptop, compute, handle) == [7]


def test_a_stop_right_after_the_start_is_not_lost(laptop: Laptop) -> None:
    compute = laptop.compute()
    handle = laptop.start(compute)
    compute.stop(handle)
    assert ended(laptop, compute, handle) == [-signal.SIGTERM]


def test_a_worker_that_ignores_the_stop_is_killed_when_its_time_is_over(laptop: Laptop) -> None:
    compute = laptop.compute(STUBBORN, kill_after=0.5)
    handle = laptop.start(compute)
    eventually(laptop.is_up)
    compute.stop(handle)
    assert ended(laptop, compute, handle) == [-signal.SIGKILL]


def test_a_stop_does_not_wait(laptop: Laptop) -> None:
    compute = laptop.compute(STUBBORN)
    handle = laptop.start(compute)
    eventually(laptop.is_up)
    begun = time.monotonic()
    compute.stop(handle)
    assert time.monotonic() - begun < 1.0


def test_a_worker_that_ignores_the_stop_is_given_its_time(laptop: Laptop) -> None:
    compute = laptop.compute(STUBBORN, kill_after=60)
    handle = laptop.start(compute)
    eventually(laptop.is_up)
    compute.stop(handle)
    time.sleep(0.5)
    assert not compute.gone(handle)


def test_a_second_stop_does_not_move_the_first_ones_deadline(laptop: Laptop) -> None:
    compute = laptop.compute(STUBBORN, kill_after=60)
    handle = laptop.start(compute)
    compute.stop(handle)
    record = (laptop.folder() / "process.json").read_text()
    compute.stop(handle)
    assert (laptop.folder() / "process.json").read_text() == record


def test_stopping_a_worker_that_is_gone_is_silent(laptop: Laptop) -> None:
    compute = laptop.compute("pass")
    handle = laptop.start(compute)
    ended(laptop, compute, handle)
    compute.stop(handle)
    compute.stop("job-9/1/site-9")


def test_a_worker_is_not_gone_while_it_runs(laptop: Laptop) -> None:
    compute = laptop.compute()
    assert not compute.gone(laptop.start(compute))


def test_an_unknown_worker_is_gone(laptop: Laptop) -> None:
    assert laptop.compute().gone("job-9/1/site-9")


def test_a_child_in_another_session_does_not_outlive_its_worker(laptop: Laptop) -> None:
    compute = laptop.compute(LEAVES_A_CHILD)
    handle = laptop.start(compute)
    ended(laptop, compute, handle)
    assert members(handle, session=None) == []


def test_a_stop_at_the_end_of_the_time_takes_children_too(laptop: Laptop) -> None:
    compute = laptop.compute("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + WITH_A_CHILD, kill_after=0.3)
    handle = laptop.start(compute)
    eventually(laptop.is_up)
    compute.stop(handle)
    ended(laptop, compute, handle)
    assert members(handle, session=None) == []


def test_a_killed_shim_is_told_as_an_unknown_status(laptop: Laptop) -> None:
    compute = laptop.compute()
    handle = laptop.start(compute)
    laptop.worker()
    laptop.shim().kill()
    assert ended(laptop, compute, handle) == [None]


def test_nothing_of_a_worker_outlives_its_killed_shim(laptop: Laptop) -> None:
    compute = laptop.compute(WITH_A_CHILD)
    handle = laptop.start(compute)
    eventually(laptop.is_up)
    laptop.shim().kill()
    eventually((laptop.folder() / "ended.json").exists)
    assert members(handle, session=None) == []


@pytest.mark.skipif(sys.platform != "linux", reason="the tie between shim and worker is Linux's")
def test_a_worker_dies_with_its_shim_also_when_no_stack_looks(laptop: Laptop) -> None:
    compute = laptop.compute()
    laptop.start(compute)
    worker = laptop.worker()
    compute.close()
    laptop.shim().kill()
    eventually(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE)


def test_the_scratch_of_a_killed_shim_is_removed(laptop: Laptop) -> None:
    compute = laptop.compute(WITH_A_CHILD)
    laptop.start(compute)
    eventually(laptop.is_up)
    laptop.shim().kill()
    eventually(lambda: not (laptop.folder() / "work").exists())


def test_an_end_that_was_not_accepted_is_told_again(laptop: Laptop) -> None:
    laptop.refusals = 1
    compute = laptop.compute("raise SystemExit(4)")
    assert ended(laptop, compute, laptop.start(compute)) == [4]


@pytest.mark.skipif(sys.platform != "linux", reason="counts a thread's wake-ups as Linux tells them")
def test_nobody_looks_on_when_nothing_runs(laptop: Laptop) -> None:
    compute = laptop.compute("pass")
    ended(laptop, compute, laptop.start(compute))
    eventually((laptop.folder() / "ended.json").exists)
    before = wake_ups_of_the_watch()
    time.sleep(0.5)
    assert wake_ups_of_the_watch() - before < 6


def test_the_running_workers_of_a_job_are_known_without_their_handles(laptop: Laptop) -> None:
    compute = laptop.compute()
    handle = laptop.start(compute)
    assert (compute.handles("job-1"), compute.handles("job-2")) == ((handle,), ())


def test_a_worker_that_is_gone_is_no_handle_of_its_job(laptop: Laptop) -> None:
    compute = laptop.compute("raise SystemExit(0)")
    laptop.start(compute)
    eventually(lambda: compute.handles("job-1") == ())

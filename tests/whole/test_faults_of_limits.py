"""Time and memory: a worker that hangs, with a limit and without one, and one that holds more memory than it may."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tutti_fl import Client
from tutti_fl.shapes.jobs import Worker
from tutti_fl.shapes.live import RoundStarted, Warned

from tests.whole.conftest import LiveStack, started
from tests.whole.faults import SITE, Fault, before_training, followed, launched, wish

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(600)]

STUCK_AFTER_S = 4
MEMORY = 1_500 << 20
"""What one worker of the stack may hold; a job without a fault holds a third of it."""
SAID_WITHIN_S = 60
"""From the beginning of the training to the warning, on top of the patience; a quiet machine needs 2."""
CANCELLED_WITHIN_S = 30
TRAINING_TIMEOUT_S = 8
ENDS_AFTER_TIMEOUT_S = 40
"""From the timeout to the end of the job; a quiet machine with two cores needs 3."""
HANG = before_training("time.sleep(600)")
EAT = before_training(
    "held = []\nfor _ in range(60):\n    held.append(bytearray(os.urandom(1) * (64 << 20)))\n    time.sleep(0.2)"
)


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveStack]:
    """A stack that warns early and lends little memory, by its settings."""
    folder = tmp_path_factory.mktemp("impatient")
    chosen = {"TUTTI_STUCK_AFTER_S": str(STUCK_AFTER_S), "TUTTI_WORKER_MEMORY": str(MEMORY)}
    with started(folder, folder / "data", chosen) as (_, url):
        yield LiveStack(url, folder / "data")


@pytest.fixture(scope="module")
def cleo(impatient: LiveStack) -> Iterator[Client]:
    with Client(impatient.url, impatient.token("cleo")) as client:
        yield client


def test_a_hang_without_a_limit_is_warned_about_counted_and_ended_by_cancel(
    cleo: Client, impatient: LiveStack, tmp_path: Path
) -> None:
    fault = Fault(HANG, "", "", at="time.sleep(600)")
    job_id = launched(wish(cleo, tmp_path / "f", "hang", fault, shards=2))
    warned = warning_of(cleo, job_id)
    assert (warned.site, f"scripts/model_def.py, line {fault.line}" in warned.sentence) == (SITE, True)
    worker = worker_of(cleo, job_id)
    assert worker.stuck_since is not None
    assert STUCK_AFTER_S <= (datetime.now(UTC) - worker.stuck_since).total_seconds() < STUCK_AFTER_S + SAID_WITHIN_S
    assert (cleo.jobs.get(job_id).state, worker_of(cleo, job_id, "site-1").stuck_since) == ("RUNNING", None)
    asked = time.monotonic()
    cleo.jobs.cancel(job_id)
    for _ in cleo.jobs.follow(job_id):
        pass
    job = cleo.jobs.get(job_id)
    assert (job.state, time.monotonic() - asked < CANCELLED_WITHIN_S, impatient.workers_of(job_id)) == ("CANCELLED", True, [])


def warning_of(client: Client, job_id: str) -> Warned:
    """The first warning that a worker is stuck."""
    for live in client.follow(job_id):
        for item in live.feed:
            if isinstance(item.change, Warned) and item.change.code == "worker_stuck":
                return item.change
    raise AssertionError(f"the job ended without a warning: {client.jobs.get(job_id).reason}")


def worker_of(client: Client, job_id: str, site: str = SITE) -> Worker:
    """One worker as the live feed shows it."""
    return next(worker for worker in client.jobs.live(job_id).workers if worker.site == site)


def test_a_worker_that_is_slow_and_not_stuck_finishes_and_counts_no_more(cleo: Client, tmp_path: Path) -> None:
    slow = Fault(before_training(f"time.sleep({2 * STUCK_AFTER_S})"), "", "")
    begun = wish(cleo, tmp_path / "f", "slow", slow, shards=2, rounds=1)
    launched(begun)
    ended = followed(cleo, begun)
    assert (ended.job.state, ended.outcome.rounds[0].accepted) == ("FINISHED", ("site-1", SITE)), ended.reason
    assert ([code for code, *_ in ended.warnings], ended.worker().stuck_since) == (["worker_stuck"], None)


def test_a_hang_over_the_training_timeout_ends_a_job_that_needs_the_worker(
    cleo: Client, impatient: LiveStack, tmp_path: Path
) -> None:
    limited = Fault(HANG, "", "", at="time.sleep(600)", federation={"training_timeout_s": TRAINING_TIMEOUT_S})
    begun = wish(cleo, tmp_path / "f", "timeout", limited, shards=2)
    job_id = launched(begun)
    ended = followed(cleo, begun)
    began = next(item.at for item in cleo.jobs.live(job_id).feed if isinstance(item.change, RoundStarted))
    reason = ended.reason
    assert (ended.job.state, reason.code, reason.site) == ("FAILED", "round_timed_out", SITE)
    assert (reason.file, reason.line) == ("scripts/model_def.py", limited.line)
    assert ended.job.ended_at is not None
    assert (ended.job.ended_at - began).total_seconds() < TRAINING_TIMEOUT_S + ENDS_AFTER_TIMEOUT_S
    assert impatient.workers_of(job_id) == []


def test_more_memory_than_a_worker_may_hold_ends_a_job_that_needs_it(cleo: Client, tmp_path: Path) -> None:
    begun = wish(cleo, tmp_path / "f", "eats", Fault(EAT, "", ""), shards=2)
    launched(begun)
    reason = followed(cleo, begun).reason
    assert (reason.code, reason.site, "its limit is 1,500 MiB" in reason.sentence) == ("out_of_memory", SITE, True), reason


def test_a_job_goes_on_without_a_worker_that_held_too_much_memory(cleo: Client, tmp_path: Path) -> None:
    patient = Fault(EAT, "", "", federation={"wait_for_stragglers_s": 120})
    begun = wish(cleo, tmp_path / "f", "eats-of-three", patient, shards=3)
    launched(begun)
    ended = followed(cleo, begun)
    failed = ended.worker().failed
    assert (ended.job.state, ended.job.lost, failed is not None and failed.code) == ("FINISHED", 1, "out_of_memory")

"""Jobs, workers and reports with everything filled in but what a test is about, and threads that start at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier
from typing import Any, TypeVar

from chalicelib.contracts.job import Change, Job, JobState, Phase, PhaseChanged, Warned, WorkerState
from chalicelib.contracts.report import Report
from chalicelib.domain.errors import StaleWrite
from chalicelib.ports import JobStore

T = TypeVar("T")

NOON = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def job(number: int = 1, **changes: Any) -> Job:
    """A pending job of user ``anna``; a higher number is a newer job, in a workspace of its own."""
    return Job(
        id=f"job-{number:026d}",
        owner="anna",
        bucket="anna-bucket",
        workspace=f"w-{number}",
        state=JobState.PENDING,
        workers=3,
        minimum=2,
        rounds=8,
        gpu_type="cpu",
        start_deadline=NOON,
        created_at=NOON,
    ).model_copy(update=changes)


def added(jobs: JobStore, number: int = 1, *, workers: tuple[WorkerState, ...] = (), **changes: Any) -> Job:
    """The job, stored with a client token of its own."""
    return jobs.add(job(number, **changes), client_token=f"token-{number}", content="c", workers=workers)


def worker(site: str = "site-1", attempt: int = 1, **changes: Any) -> WorkerState:
    """A worker row."""
    return WorkerState(site=site, attempt=attempt).model_copy(update=changes)


def warning(sentence: str = "look out") -> Change:
    """A change of kind ``warning``."""
    return Warned(code="w", sentence=sentence)


def phase(site: str = "site-1") -> Change:
    """A change of kind ``phase``."""
    return PhaseChanged(site=site, phase=Phase.TRAINING)


def report(counter: int, workspace: str = "w", workers: int = 0) -> Report:
    """A report without findings."""
    return Report(workspace=workspace, counter=counter, at=NOON, findings=(), cards=(), workers=workers)


def commit_until_it_holds(jobs: JobStore, job_id: str, changes: list[Change], **moved: Any) -> Job:
    """Read, change and write again until nobody was faster, as a service does."""
    while True:
        try:
            return jobs.commit(jobs.get(job_id).model_copy(update=moved), changes=changes, workers=(), at=NOON)
        except StaleWrite:
            continue


def at_once(count: int, act: Callable[[int], T]) -> list[T | Exception]:
    """What ``act(0)`` … ``act(count - 1)`` gave or raised, each in a thread of its own and all let go at the same moment."""
    gate = Barrier(count)

    def run(number: int) -> T | Exception:
        gate.wait(timeout=30)
        try:
            return act(number)
        except Exception as error:  # noqa: BLE001 - the test looks at it
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))

"""What every JobStore promises of its worker rows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chalicelib.contracts.job import SERVER, Cause, ReasonCode
from chalicelib.domain.errors import WorkerNotFound
from chalicelib.ports import JobStore
from tests.adapters.record_builders import NOON, added, at_once, commit_until_it_holds, job, warning, worker
from tests.adapters.stores import JOB_STORES


@pytest.fixture(params=JOB_STORES)
def jobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[JobStore]:
    with JOB_STORES[request.param](tmp_path) as store:
        yield store


def test_workers_come_server_first_and_then_by_number(jobs: JobStore) -> None:
    sites = ("site-10", "site-2", SERVER, "site-1")
    stored = added(jobs, workers=tuple(worker(site) for site in sites))
    assert [w.site for w in jobs.workers(stored.id, 1)] == [SERVER, "site-1", "site-2", "site-10"]


def test_workers_of_another_attempt_are_not_listed(jobs: JobStore) -> None:
    stored = added(jobs, workers=(worker(attempt=1), worker(attempt=2)))
    assert [w.attempt for w in jobs.workers(stored.id, 2)] == [2]


def test_a_worker_that_was_never_stored_is_not_found(jobs: JobStore) -> None:
    with pytest.raises(WorkerNotFound):
        jobs.worker(added(jobs).id, 1, "site-9")


def test_a_commit_writes_worker_rows(jobs: JobStore) -> None:
    jobs.commit(added(jobs), changes=[], workers=(worker(handle="h"),), at=NOON)
    assert jobs.worker(job().id, 1, "site-1") == worker(handle="h")


def test_a_touch_writes_one_row_and_leaves_the_job_alone(jobs: JobStore) -> None:
    stored = added(jobs, workers=(worker(), worker("site-2")))
    jobs.touch(stored.id, worker(last_seen=NOON, accepted_seq=1))
    assert jobs.workers(stored.id, 1) == (worker(last_seen=NOON, accepted_seq=1), worker("site-2"))
    assert jobs.get(stored.id) == stored


def test_a_touch_with_a_lower_number_than_the_stored_one_changes_nothing(jobs: JobStore) -> None:
    stored = added(jobs, workers=(worker(accepted_seq=5),))
    jobs.touch(stored.id, worker(accepted_seq=4, last_seen=NOON))
    assert jobs.worker(stored.id, 1, "site-1") == worker(accepted_seq=5)


def test_a_touch_of_an_absent_row_is_refused(jobs: JobStore) -> None:
    with pytest.raises(WorkerNotFound):
        jobs.touch(added(jobs).id, worker())


def test_a_touch_changes_only_when_and_up_to_where_a_worker_was_heard(jobs: JobStore) -> None:
    cause = Cause(code=ReasonCode.PROCESS_KILLED, sentence="killed")
    before = worker(handle="h", exited=True, failed=cause, done=True, joined=True, round=3)
    stored = added(jobs, workers=(before,))
    news: dict[str, Any] = {"last_seen": NOON, "accepted_seq": 4, "silent_warned": True}
    jobs.touch(stored.id, worker(**news))
    assert jobs.worker(stored.id, 1, "site-1") == before.model_copy(update=news)


def test_touches_and_commits_at_once_lose_nothing(jobs: JobStore) -> None:
    stored = added(jobs, workers=tuple(worker(f"site-{n}") for n in range(1, 9)))

    def act(number: int) -> None:
        for turn in range(1, 11):
            if number < 8:
                jobs.touch(stored.id, worker(f"site-{number + 1}", accepted_seq=turn))
            else:
                commit_until_it_holds(jobs, stored.id, [warning()])

    assert at_once(16, act) == [None] * 16
    assert {w.accepted_seq for w in jobs.workers(stored.id, 1)} == {10}
    assert jobs.get(stored.id).seq == 80

"""What every JobStore promises."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.contracts.job import Job, JobState
from chalicelib.domain.errors import ClientTokenReused, JobNotFound, StaleWrite, WorkspaceBusy
from chalicelib.ports import JobStore
from tests.adapters.record_builders import NOON, added, at_once, commit_until_it_holds, job, phase, warning, worker
from tests.adapters.stores import JOB_STORES


@pytest.fixture(params=JOB_STORES)
def jobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[JobStore]:
    with JOB_STORES[request.param](tmp_path) as store:
        yield store


def test_a_stored_job_is_read_back_as_it_was(jobs: JobStore) -> None:
    price = Decimal("0.10")
    assert jobs.get(added(jobs, price_per_hour=price).id) == job(price_per_hour=price)


def test_a_job_that_was_never_stored_is_not_found(jobs: JobStore) -> None:
    with pytest.raises(JobNotFound):
        jobs.get("job-none")


def test_the_same_token_and_content_again_gives_the_first_job(jobs: JobStore) -> None:
    first = added(jobs)
    assert jobs.add(job(2), client_token="token-1", content="c", workers=()) == first


def test_a_repeated_launch_stores_no_second_job(jobs: JobStore) -> None:
    added(jobs)
    jobs.add(job(2), client_token="token-1", content="c", workers=())
    with pytest.raises(JobNotFound):
        jobs.get(job(2).id)


def test_a_repeated_launch_sees_the_job_as_it_is_now(jobs: JobStore) -> None:
    moved = commit_until_it_holds(jobs, added(jobs).id, [], state=JobState.RUNNING)
    assert jobs.add(job(), client_token="token-1", content="c", workers=()) == moved


def test_a_token_with_other_content_is_refused(jobs: JobStore) -> None:
    added(jobs)
    with pytest.raises(ClientTokenReused):
        jobs.add(job(2), client_token="token-1", content="other", workers=())


def test_two_owners_may_use_the_same_token(jobs: JobStore) -> None:
    added(jobs)
    assert jobs.add(job(2, owner="bert"), client_token="token-1", content="c", workers=()).id == job(2).id


def test_a_workspace_has_one_active_job(jobs: JobStore) -> None:
    added(jobs)
    with pytest.raises(WorkspaceBusy):
        added(jobs, 2, workspace="w-1")


def test_a_workspace_is_free_again_once_its_job_has_ended(jobs: JobStore) -> None:
    commit_until_it_holds(jobs, added(jobs).id, [], state=JobState.FAILED)
    assert added(jobs, 2, workspace="w-1").id == job(2).id


def test_workspaces_of_the_same_name_of_two_owners_are_two(jobs: JobStore) -> None:
    added(jobs)
    assert added(jobs, 2, workspace="w-1", owner="bert").owner == "bert"


def test_a_job_is_found_by_its_token(jobs: JobStore) -> None:
    added(jobs)
    assert jobs.by_token("anna", "token-1", "c") == job()


def test_an_unused_token_finds_nothing(jobs: JobStore) -> None:
    assert jobs.by_token("anna", "token-1", "c") is None


def test_looking_up_a_token_with_other_content_is_refused(jobs: JobStore) -> None:
    added(jobs)
    with pytest.raises(ClientTokenReused):
        jobs.by_token("anna", "token-1", "other")


def test_sixteen_launches_with_one_token_make_one_job(jobs: JobStore) -> None:
    made = at_once(16, lambda n: jobs.add(job(n + 1, workspace="w"), client_token="t", content="c", workers=()).id)
    assert len(set(made)) == 1
    assert len(jobs.list("anna").jobs) == 1


def test_sixteen_launches_of_one_workspace_make_one_job(jobs: JobStore) -> None:
    made = at_once(16, lambda n: added(jobs, n + 1, workspace="w"))
    assert sorted(type(m).__name__ for m in made) == ["Job"] + ["WorkspaceBusy"] * 15


def test_pages_give_every_job_once_newest_first(jobs: JobStore) -> None:
    for number in (2, 1, 3, 5, 4):
        added(jobs, number)
    assert _paged(jobs, limit=2) == [job(n).id for n in (5, 4, 3, 2, 1)]


def test_the_last_page_has_no_cursor(jobs: JobStore) -> None:
    added(jobs, 1)
    added(jobs, 2)
    assert jobs.list("anna", limit=2).cursor is None


def test_a_job_launched_between_two_pages_moves_nothing(jobs: JobStore) -> None:
    for number in (1, 2, 3):
        added(jobs, number)
    first = jobs.list("anna", limit=2)
    added(jobs, 4)
    assert [j.id for j in jobs.list("anna", cursor=first.cursor, limit=2).jobs] == [job(1).id]


def test_a_list_holds_no_job_of_another_owner(jobs: JobStore) -> None:
    added(jobs, 1, owner="bert")
    assert jobs.list("anna").jobs == ()


def test_a_list_can_be_of_one_workspace(jobs: JobStore) -> None:
    added(jobs, 1)
    added(jobs, 2)
    assert [j.id for j in jobs.list("anna", workspace="w-1").jobs] == [job(1).id]


def test_active_jobs_are_those_of_every_owner_that_have_not_ended(jobs: JobStore) -> None:
    for number, owner in ((1, "anna"), (2, "bert"), (3, "anna")):
        added(jobs, number, owner=owner)
    commit_until_it_holds(jobs, job(3).id, [], state=JobState.CANCELLED)
    assert {j.id for j in jobs.active()} == {job(1).id, job(2).id}


def test_the_active_job_of_a_workspace_is_found(jobs: JobStore) -> None:
    added(jobs)
    assert jobs.active_in("anna", "w-1") == job()


def test_a_workspace_whose_job_has_ended_has_no_active_one(jobs: JobStore) -> None:
    commit_until_it_holds(jobs, added(jobs).id, [], state=JobState.FINISHED)
    assert jobs.active_in("anna", "w-1") is None


def test_a_commit_answers_the_job_as_stored(jobs: JobStore) -> None:
    stored = jobs.commit(added(jobs), changes=[warning(), phase()], workers=(), at=NOON)
    assert (stored.version, stored.seq, jobs.get(stored.id)) == (1, 2, stored)


def test_a_commit_from_an_older_version_is_refused(jobs: JobStore) -> None:
    old = added(jobs)
    jobs.commit(old, changes=[], workers=(), at=NOON)
    with pytest.raises(StaleWrite):
        jobs.commit(old, changes=[], workers=(), at=NOON)


def test_a_refused_commit_writes_nothing(jobs: JobStore) -> None:
    old = added(jobs, workers=(worker(),))
    jobs.commit(old, changes=[], workers=(), at=NOON)
    with pytest.raises(StaleWrite):
        jobs.commit(old, changes=[warning()], workers=(worker(exited=True),), at=NOON)
    assert (list(jobs.feed(old.id, after=0)), jobs.worker(old.id, 1, "site-1").exited) == ([], False)


def test_a_commit_of_a_job_that_is_not_there_is_refused(jobs: JobStore) -> None:
    with pytest.raises(StaleWrite):
        jobs.commit(job(), changes=[], workers=(), at=NOON)


def test_a_commit_never_takes_back_what_a_worker_has_sent_meanwhile(jobs: JobStore) -> None:
    stored = added(jobs, workers=(worker(),))
    jobs.touch(stored.id, worker(accepted_seq=7))
    with pytest.raises(StaleWrite):
        jobs.commit(stored, changes=[warning()], workers=(worker(exited=True),), at=NOON)
    assert jobs.get(stored.id) == stored


def test_sixteen_writers_lose_no_change_and_leave_no_gap(jobs: JobStore) -> None:
    stored = added(jobs)
    at_once(16, lambda n: [commit_until_it_holds(jobs, stored.id, [warning(f"{n}.{i}")]) for i in range(5)])
    written = [warning(f"{n}.{i}") for n in range(16) for i in range(5)]
    feed = jobs.feed(stored.id, after=0)
    assert [item.seq for item in feed] == list(range(1, 81))
    assert all(change in written for change in (item.change for item in feed))
    assert len({item.change.model_dump_json() for item in feed}) == len(written)


def test_sixteen_writers_each_move_the_version_by_one(jobs: JobStore) -> None:
    stored = added(jobs)
    at_once(16, lambda _: [commit_until_it_holds(jobs, stored.id, []) for _ in range(5)])
    assert jobs.get(stored.id).version == 80


@given(sizes=st.lists(st.integers(0, 4), max_size=8), stale=st.sets(st.integers(0, 7)))
@settings(max_examples=25, deadline=None)
@pytest.mark.parametrize("kind", JOB_STORES)
def test_any_row_of_commits_leaves_a_feed_from_one_to_seq(kind: str, sizes: list[int], stale: set[int]) -> None:
    with TemporaryDirectory() as folder, JOB_STORES[kind](Path(folder)) as jobs:
        now = old = added(jobs)
        for turn, size in enumerate(sizes):
            if turn in stale and now.version > old.version:
                with pytest.raises(StaleWrite):
                    jobs.commit(old, changes=[warning()] * size, workers=(), at=NOON)
            old, now = now, jobs.commit(now, changes=[warning()] * size, workers=(), at=NOON)
        assert [item.seq for item in jobs.feed(now.id, after=0)] == list(range(1, jobs.get(now.id).seq + 1))


def test_a_feed_starts_after_a_number(jobs: JobStore) -> None:
    stored = jobs.commit(added(jobs), changes=[warning(str(n)) for n in range(1, 6)], workers=(), at=NOON)
    assert [item.seq for item in jobs.feed(stored.id, after=2, limit=2)] == [3, 4]


def test_a_feed_can_be_of_some_kinds(jobs: JobStore) -> None:
    stored = jobs.commit(added(jobs), changes=[warning(), phase(), warning()], workers=(), at=NOON)
    assert [item.seq for item in jobs.feed(stored.id, after=0, kinds=["phase", "metrics"])] == [2]


def test_a_change_keeps_its_content_and_its_time(jobs: JobStore) -> None:
    stored = jobs.commit(added(jobs), changes=[phase("site-2")], workers=(), at=NOON)
    assert [(item.at, item.change) for item in jobs.feed(stored.id, after=0)] == [(NOON, phase("site-2"))]


def test_the_feed_of_an_unknown_job_is_empty(jobs: JobStore) -> None:
    assert list(jobs.feed("job-none", after=0)) == []


def _paged(jobs: JobStore, *, limit: int) -> list[str]:
    page = jobs.list("anna", limit=limit)
    found: list[Job] = list(page.jobs)
    while page.cursor is not None:
        page = jobs.list("anna", cursor=page.cursor, limit=limit)
        found += page.jobs
    return [j.id for j in found]

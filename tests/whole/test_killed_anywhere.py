"""The platform stopped after every single write of a job's life, and started again: the end is the same, and nothing is done
twice or left behind."""

import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from chalicelib.contracts.job import JobState, RoundEnded, StateChanged
from chalicelib.domain import object_keys
from chalicelib.domain.errors import StoreUnavailable
from local_stack.training_job import ARN
from tests.whole.agents import ROUNDS, SITES, Script, failing, good
from tests.whole.fuse import Fuse
from tests.whole.mortal import Life, Lives
from tests.world import SETTINGS

SEEDS = range(20)


@pytest.fixture(scope="module")
def lives() -> Iterator[Lives]:
    """On a disk in memory where there is one: thousands of writes are not to wait for a real one."""
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Lives(Path(folder))


@dataclass(frozen=True)
class Kind:
    """How a job's life goes, and how it ends."""

    script: Script
    end: JobState
    cancels: bool = False
    launched: bool = True
    """Whether it begins with the job just launched: a launch takes longer than all the rest."""

    def life(self, lives: Lives) -> Life:
        """One that has not begun."""
        return lives.life(self.script, cancels=self.cancels, launched=self.launched)

    def writes(self, lives: Lives, *, lost_answers: bool = False) -> range:
        """The numbers of the writes of an undisturbed life, which ends as it should."""
        life, fuse = self.life(lives), Fuse()
        life.live(fuse, lost_answers=lost_answers)
        wrong = faults(life, self.end)
        lives.bury(life)
        assert wrong == []
        return range(1, len(fuse.writes) + 1)


def faults(life: Life, state: JobState) -> list[str]:
    """What is not as it should be at the end of a life, in words."""
    if life.job_id is None:
        return ["it was never launched"]
    ended = [] if life.job().state is state else [f"it is {life.job().state}, not {state}: {life.job().reason}"]
    return ended + [name for name, holds in CHECKS.items() if not holds(life)]


def seqs_have_no_gap(life: Life) -> bool:
    return [item.seq for item in life.app.jobs.feed(life.job().id, after=0)] == list(range(1, life.job().seq + 1))


def rounds_are_booked_once(life: Life) -> bool:
    feed = life.app.jobs.feed(life.job().id, after=0)
    booked = [item.change.round for item in feed if isinstance(item.change, RoundEnded)]
    return booked == list(range(len(booked))) and (life.job().state is not JobState.FINISHED or len(booked) == ROUNDS)


def states_are_told_once(life: Life) -> bool:
    feed = life.app.jobs.feed(life.job().id, after=0)
    told = Counter((item.change.state, item.change.ending) for item in feed if isinstance(item.change, StateChanged))
    return set(told.values()) == {1}


def codes_are_used_once_and_worth_nothing(life: Life) -> bool:
    query = "SELECT site, COUNT(nonce_hash) AS used, SUM(NOT revoked) AS good FROM worker_codes GROUP BY site"
    with life.records.reading() as connection:
        return all((row["used"], row["good"]) == (1, 0) for row in connection.execute(query))


def times_are_in_order(life: Life) -> bool:
    job = life.job()
    times = [at for at in (job.created_at, job.running_at, job.finishing_at, job.ended_at) if at is not None]
    return times == sorted(times) and job.ended_at is not None


def workers_are_written_down(life: Life) -> bool:
    rows = life.app.jobs.workers(life.job().id, 1)
    return all(row.handle and row.exited for row in rows) and len(rows) == len(SITES)


def model_is_where_users_look(life: Life) -> bool:
    job = life.job()
    there = [item.key for item in life.objects.list(job.bucket, object_keys.newest_model("digits")).objects]
    return bool(there) == (job.state is JobState.FINISHED)


def platform_keeps_this_job_only(life: Life) -> bool:
    keys = [item.key for item in life.objects.list(SETTINGS.platform_bucket, "runs/").objects]
    mine = object_keys.run(life.job().id)
    return len(keys) == 3 and all(key.startswith(mine) and "/kits/" not in key for key in keys)


CHECKS: dict[str, Callable[[Life], bool]] = {
    "nobody runs": lambda life: not life.workers.alive,
    "a machine is held for every worker that runs": lambda life: not life.without_lease,
    "nothing is held": lambda life: not life.app.fleet.holders(),
    "one execution, over": lambda life: [e.status for e in life.operations.executions(ARN, None)] in (["SUCCEEDED"], ["FAILED"]),
    "the feed has no gap": seqs_have_no_gap,
    "each round is booked once": rounds_are_booked_once,
    "each state is told once": states_are_told_once,
    "each code was used once": codes_are_used_once_and_worth_nothing,
    "the times are in order": times_are_in_order,
    "every worker's start and exit is written down": workers_are_written_down,
    "a model for FINISHED only": model_is_where_users_look,
    "the platform's bucket keeps this job only": platform_keeps_this_job_only,
}


GOOD = Kind(good, JobState.FINISHED)
KINDS = {
    "fails": Kind(failing, JobState.FAILED),
    "is cancelled": Kind(good, JobState.CANCELLED, cancels=True),
    "is launched": Kind(good, JobState.FINISHED, launched=False),
}


def killed_after_each_write(lives: Lives, kind: Kind, *, away_s: float = 0) -> dict[str, list[str]]:
    """Where a life went wrong that was cut once, and how; every write of it is tried."""
    wrong = {}
    for number in kind.writes(lives):
        life = kind.life(lives)
        life.away_s = away_s
        life.live(Fuse(number))
        wrong[f"{number} {life.kills}"] = faults(life, kind.end)
        lives.bury(life)
    return {place: found for place, found in wrong.items() if found}


def test_a_platform_killed_after_any_write_brings_the_job_to_its_end(lives: Lives) -> None:
    assert killed_after_each_write(lives, GOOD) == {}


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", KINDS)
def test_a_platform_killed_after_any_write_brings_every_job_to_its_end(kind: str, lives: Lives) -> None:
    assert killed_after_each_write(lives, KINDS[kind]) == {}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_platform_that_was_away_for_an_hour_blames_nobody(lives: Lives) -> None:
    """Real workers wait ten minutes for it; these wait for ever, so that only the platform could end the job."""
    assert killed_after_each_write(lives, GOOD, away_s=3600) == {}


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", KINDS)
def test_any_answer_that_is_lost_after_its_write_changes_nothing(kind: str, lives: Lives) -> None:
    wrong = {}
    for number in KINDS[kind].writes(lives, lost_answers=True):
        life, fuse = KINDS[kind].life(lives), Fuse(number, StoreUnavailable)
        life.live(fuse, lost_answers=True)
        wrong[f"{number} {fuse.writes[number - 1]}"] = faults(life, KINDS[kind].end)
        lives.bury(life)
    assert {place: found for place, found in wrong.items() if found} == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_platform_killed_again_and_again_brings_the_job_to_its_end(seed: int, lives: Lives) -> None:
    chance = random.Random(seed)  # noqa: S311
    life = lives.life()
    life.live(Fuse(chance.randint(1, 30)), next_fuse=lambda: Fuse(chance.randint(1, 30)))
    wrong = faults(life, JobState.FINISHED)
    lives.bury(life)
    assert wrong == [], life.kills

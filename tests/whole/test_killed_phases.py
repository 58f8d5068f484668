"""The stack killed in every phase of a job, and started again: the job comes to its true end, and nothing is done twice or left
behind."""

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tutti_fl import Client

from chalicelib.contracts.job import SERVER
from tests.whole.builders import FOREVER, folder, spoiled
from tests.whole.conftest import job_run
from tests.whole.killable import KillableStack, Row, faults, killable, until

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.timeout(900)]

ROUNDS = 4
TRAIN = '    env = payload["env"]\n'
KILLS = 4


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KillableStack]:
    """One data folder for all phases; whoever kills the stack starts it again."""
    with killable(tmp_path_factory.mktemp("killed")) as made:
        yield made


class Marks:
    """What the training function itself has noted: who trained which round in which process."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def source(self, then: str = "    time.sleep(0.3)\n") -> str:
        """A model_def that notes each call first."""
        note = (
            f"    open({str(self._file)!r}, 'a').write(f\"{{env['SITE_NAME']}} {{env['CURRENT_ROUND']}} {{os.getpid()}}\\n\")\n"
        )
        return spoiled(TRAIN, TRAIN + note + then)

    def faults(self, rounds: int) -> list[str]:
        """What was trained twice, or by a second process, or not at all."""
        lines = [tuple(line.split()) for line in self._file.read_text().splitlines()]
        trained = Counter((site, int(number)) for site, number, _ in lines)
        processes = Counter(site for site, _ in {(site, pid) for site, _, pid in lines})
        wanted = {(site, number) for site in ("site-1", "site-2") for number in range(rounds)}
        return [f"trained: {trained}"] * (trained != Counter(wanted)) + [f"processes: {processes}"] * any(
            count > 1 for count in processes.values()
        )


def launched(client: Client, root: Path, name: str, source: str, *, rounds: int = ROUNDS) -> str:
    """The id of a job that was just launched."""
    begun = job_run(client, folder(root, model_def=source), name, rounds=rounds)
    begun.check()
    return begun.launch().id


def ended(stack: KillableStack, job_id: str) -> Row:
    """The job, once it has ended."""
    with stack.client() as client:
        for _ in client.follow(job_id):
            pass
    return stack.job(job_id)


def it_was_just_launched(stack: KillableStack, job_id: str) -> bool:
    return bool(stack.job(job_id))


def the_server_is_noted(stack: KillableStack, job_id: str) -> bool:
    return any(note["site"] == SERVER for note in stack.notes(job_id))


def some_have_joined(stack: KillableStack, job_id: str) -> bool:
    return bool(stack.job(job_id)["server_joined"])


def a_round_is_under_way(stack: KillableStack, job_id: str) -> bool:
    job = stack.job(job_id)
    return job["round"] is not None and job["round"] == job["rounds_done"] >= 1


def a_round_was_just_booked(stack: KillableStack, job_id: str) -> bool:
    return bool(stack.job(job_id)["rounds_done"] >= 2)


def training_is_over(stack: KillableStack, job_id: str) -> bool:
    return stack.job(job_id)["finishing_at"] is not None


def the_workers_are_asked_to_leave(stack: KillableStack, job_id: str) -> bool:
    return any(note["kill_at"] for note in stack.notes(job_id)) or stack.job(job_id)["ended_at"] is not None


PHASES: dict[str, Callable[[KillableStack, str], bool]] = {
    "pending": it_was_just_launched,
    "starting": the_server_is_noted,
    "joining": some_have_joined,
    "mid-round": a_round_is_under_way,
    "between rounds": a_round_was_just_booked,
    "collecting": training_is_over,
    "releasing": the_workers_are_asked_to_leave,
}


@pytest.mark.parametrize("phase", PHASES)
def test_a_job_whose_stack_is_killed_finishes_once(phase: str, stack: KillableStack, tmp_path: Path) -> None:
    marks = Marks(tmp_path / "marks")
    with stack.client() as client:
        job_id = launched(client, tmp_path / "f", phase.replace(" ", "-"), marks.source())
    until(lambda: PHASES[phase](stack, job_id), phase)
    stack.kill()
    before = stack.job(job_id)
    stack.up()
    job = ended(stack, job_id)
    assert (job["state"], job["rounds_done"]) == ("FINISHED", ROUNDS), job["reason"]
    assert faults(stack, job_id, sites=2) + marks.faults(ROUNDS) == []
    assert {name: job[name] for name in ("created_at", "running_at", "finishing_at") if before[name]} == {
        name: before[name] for name in ("created_at", "running_at", "finishing_at") if before[name]
    }


def test_a_cancel_that_was_acknowledged_is_carried_out_by_the_next_stack(stack: KillableStack, tmp_path: Path) -> None:
    marks = Marks(tmp_path / "marks")
    with stack.client() as client:
        job_id = launched(client, tmp_path / "f", "cancelled", marks.source(FOREVER))
        until((tmp_path / "marks").exists, "somebody trains")
        client.cancel(job_id)
    stack.kill()
    assert stack.job(job_id)["state"] == "RUNNING"
    stack.up()
    job = ended(stack, job_id)
    assert (job["state"], job["reason"]["code"]) == ("CANCELLED", "cancelled_by_user")
    assert faults(stack, job_id, sites=2) == []


def test_a_job_whose_stack_is_killed_at_random_moments_finishes_once(stack: KillableStack, tmp_path: Path) -> None:
    seed = int(os.environ.get("TUTTI_TEST_SEED", time.time_ns() % 1_000_000))
    print(f"TUTTI_TEST_SEED={seed} makes the same moments again")
    chance, marks = random.Random(seed), Marks(tmp_path / "marks")  # noqa: S311
    with stack.client() as client:
        job_id = launched(client, tmp_path / "f", "at-random", marks.source(), rounds=15)
    for _ in range(KILLS):
        time.sleep(chance.uniform(0.0, 4.0))
        stack.kill()
        stack.up()
    job = ended(stack, job_id)
    assert (job["state"], job["rounds_done"]) == ("FINISHED", 15), job["reason"]
    assert faults(stack, job_id, sites=2) + marks.faults(15) == []

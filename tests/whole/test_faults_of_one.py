"""Each fault at one worker of three where two are enough: the job goes on, FINISHED, and shows whom it did without, and why."""

import os
import signal
from pathlib import Path

import pytest
import torch
from tutti_fl import Client

from tests.whole.builders import spoiled
from tests.whole.conftest import LiveStack
from tests.whole.faults import IMPORTS, SIGNALLED, SITE, TURNS, Ended, Fault, before_training, followed, in_turns, launched, wish
from tests.whole.processes import supervisor_of, wait_until_training

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(600)]

ENDS_WITHIN_S = 180
"""From the launch; a quiet machine with two cores needs 8 to 25."""
OTHERS = ("site-1", "site-3")


@pytest.fixture(scope="module")
def turns(ada: Client, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """A job in which the second worker of three does something else wrong in each round, and nothing in the last."""
    root = tmp_path_factory.mktemp("turns") / "f"
    begun = wish(ada, root, "turns", Fault(in_turns(), "", ""), shards=3, rounds=len(TURNS) + 2)
    launched(begun)
    return followed(ada, begun)


def test_a_job_whose_other_workers_are_enough_finishes(turns: Ended) -> None:
    assert (turns.job.state, turns.job.lost, turns.seconds < ENDS_WITHIN_S) == ("FINISHED", 0, True), turns.reason


@pytest.mark.parametrize("turn", TURNS)
def test_a_round_shows_whom_it_did_without_and_why(turn: str, turns: Ended) -> None:
    at = list(TURNS).index(turn)
    assert turns.outcome.rounds[at].accepted == OTHERS
    assert TURNS[turn][1] in turns.refused[at][SITE]


def test_a_worker_without_samples_counts_as_0_and_is_shown(turns: Ended) -> None:
    of_none = turns.outcome.rounds[len(TURNS)]
    assert (of_none.samples[SITE], of_none.metrics["server"]["loss"]) == (0, _mean_of(OTHERS, of_none.metrics))


def _mean_of(sites: tuple[str, ...], metrics: dict[str, dict[str, float | None]]) -> object:
    losses = [loss for site in sites if (loss := metrics[site]["loss"]) is not None]
    return pytest.approx(sum(losses) / len(losses))


def test_a_worker_that_does_right_again_counts_again(turns: Ended) -> None:
    assert turns.outcome.rounds[-1].accepted == ("site-1", SITE, "site-3")


def test_the_model_of_such_a_job_is_one(turns: Ended) -> None:
    assert turns.outcome.model_path is not None
    weights = torch.load(turns.outcome.model_path, weights_only=True)
    assert all(bool(torch.isfinite(value).all()) for value in weights.values())


LOST = {
    "os._exit": (before_training("os._exit(3)"), "process_crashed", "os._exit()"),
    "SIGKILL": (before_training(SIGNALLED.format("KILL")), "process_killed", "SIGKILL"),
    "its parents killed": (before_training("import signal\nos.kill(os.getppid(), signal.SIGKILL)"), "process_killed", SITE),
}


@pytest.mark.parametrize("case", LOST)
def test_a_job_goes_on_without_a_worker_that_is_gone(case: str, ada: Client, stack: LiveStack, tmp_path: Path) -> None:
    source, code, says = LOST[case]
    begun = wish(ada, tmp_path / "f", f"lost-{list(LOST).index(case)}", Fault(source, code, says), shards=3)
    launched(begun)
    check_loss(followed(ada, begun), code, says, stack)


def test_a_job_goes_on_without_a_worker_whose_supervisor_is_killed(ada: Client, stack: LiveStack, tmp_path: Path) -> None:
    begun = wish(ada, tmp_path / "f", "lost-supervisor", Fault(before_training("time.sleep(3)", None), "", ""), shards=3)
    job_id = launched(begun)
    wait_until_training(ada, job_id, SITE)
    os.kill(supervisor_of(stack, job_id, SITE), signal.SIGKILL)
    check_loss(followed(ada, begun), "process_killed", "signal 9", stack)


def check_loss(ended: Ended, code: str, says: str, stack: LiveStack) -> None:
    """The job is FINISHED, and the loss is in the worker's row, in a warning and in the rounds."""
    failed = ended.worker().failed
    assert (ended.job.state, ended.job.lost, failed is not None and failed.code) == ("FINISHED", 1, code), ended.reason
    assert [site for warning, site, sentence in ended.warnings if warning == "worker_lost" and says in sentence] == [SITE]
    assert [round_.accepted for round_ in ended.outcome.rounds] == [OTHERS, OTHERS]
    assert [list(refused) for refused in ended.refused] == [[SITE], [SITE]]
    assert (ended.seconds < ENDS_WITHIN_S, stack.workers_of(ended.job.id)) == (True, [])


def test_a_worker_that_hangs_over_its_training_timeout_is_left_out(ada: Client, stack: LiveStack, tmp_path: Path) -> None:
    hang = Fault(before_training("time.sleep(600)"), "", "", federation={"training_timeout_s": 20})
    begun = wish(ada, tmp_path / "f", "straggler", hang, shards=3)
    launched(begun)
    ended = followed(ada, begun)
    assert (ended.job.state, ended.job.lost) == ("FINISHED", 0), ended.reason
    assert ended.refused == [{SITE: f"{SITE} had not answered when the round was averaged"}] * 2
    assert (ended.seconds < ENDS_WITHIN_S, stack.workers_of(ended.job.id)) == (True, [])


def test_the_fault_of_one_before_training_ends_the_job_at_once(ada: Client, tmp_path: Path) -> None:
    source = spoiled(IMPORTS, f"{IMPORTS}if os.environ.get('TUTTI_SITE') == '{SITE}':\n    import no_such_package\n")
    begun = wish(ada, tmp_path / "f", "one-cannot-start", Fault(source, "", ""), shards=3)
    launched(begun)
    reason = followed(ada, begun).reason
    assert (reason.code, reason.site, reason.file) == ("missing_module", SITE, "scripts/model_def.py")

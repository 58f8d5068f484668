"""Each fault in a job that cannot go on without the worker that has it: FAILED, and the reason says what, who and where."""

from pathlib import Path

import pytest
from tutti_fl import Client

from tests.whole.builders import MODEL_DEF
from tests.whole.conftest import LiveStack
from tests.whole.faults import ENDING, SERVER, Ended, Fault, codes, followed, launched, wish

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(600)]

ENDS_WITHIN_S = 120
"""From the launch; a quiet machine with two cores needs 5 to 15."""


@pytest.fixture(scope="module", params=ENDING)
def case(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def fault(case: str) -> Fault:
    return ENDING[case]


@pytest.fixture(scope="module")
def ended(case: str, fault: Fault, ada: Client, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """The job with the fault, over; a line of the table it makes is printed."""
    begun = wish(ada, tmp_path_factory.mktemp("fault") / "f", f"ends-{list(ENDING).index(case)}", fault, shards=2)
    launched(begun)
    ended = followed(ada, begun)
    reason = ended.reason
    place = f"{reason.file}:{reason.line}" if reason.file else "-"
    print(f"{case} | {ended.job.state} | {reason.code} | {reason.site} | {place} | {reason.sentence} | {ended.seconds:.0f} s")
    return ended


def test_it_fails_with_its_cause(ended: Ended, fault: Fault) -> None:
    assert (ended.job.state, ended.reason.code, ended.reason.fault) == ("FAILED", fault.code, fault.fault), ended.reason


def test_the_worker_is_named(ended: Ended, fault: Fault) -> None:
    assert ended.reason.site in (fault.site, *(("site-1", "site-2") if fault.site is None and fault.at else ()))


def test_file_and_line_are_named(ended: Ended, fault: Fault) -> None:
    assert (ended.reason.file, ended.reason.line) == (fault.file, fault.line)


def test_the_sentence_says_what_was_wrong(ended: Ended, fault: Fault) -> None:
    assert fault.says in ended.reason.sentence


def test_the_logs_show_it(ended: Ended, fault: Fault) -> None:
    assert any(fault.says in ended.log(source) for source in {ended.reason.site or SERVER, SERVER})


def test_it_ends_within_its_bound_and_leaves_nothing(ended: Ended, stack: LiveStack) -> None:
    assert (ended.seconds < ENDS_WITHIN_S, stack.workers_of(ended.job.id)) == (True, [])


def test_there_is_no_model(ended: Ended, ada: Client) -> None:
    assert ended.job.model_key is None
    assert ada.files.find(f"jobs/{ended.job.workspace}/model_out/GLOBAL_MODEL.pt") is None


REFUSED = {
    "a wrong class name": ({"model_class": "model_def.Nope"}, (), "model_class_missing"),
    "a wrong function name": ({"train_fn": "nope"}, (), "train_fn_missing"),
    "two checkpoints": ({}, ("a.pt", "b.pt"), "many_checkpoints"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_be_seen_before_is_refused_before(case: str, ada: Client, tmp_path: Path) -> None:
    model, checkpoints, code = REFUSED[case]
    (tmp_path / "f" / "model").mkdir(parents=True)
    for name in checkpoints:
        (tmp_path / "f" / "model" / name).write_bytes(b"PK")
    begun = wish(ada, tmp_path / "f", f"refused-{list(REFUSED).index(case)}", Fault(MODEL_DEF, "", "", model=model), shards=1)
    assert code in codes(begun.check().errors)

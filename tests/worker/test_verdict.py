"""Whether a model was trained."""

from pathlib import Path

import pytest
import torch
from tutti_worker.trouble import Failure
from tutti_worker.verdict import judge, load_finite

from chalicelib.contracts.job import Cause
from chalicelib.contracts.worker import RoundDoneEvent, SiteResult


def done(number: int, *accepted: bool, refused: Cause | None = None) -> RoundDoneEvent:
    sites = {f"site-{at}": SiteResult(accepted=yes, refused=None if yes else refused) for at, yes in enumerate(accepted, 1)}
    return RoundDoneEvent(round=number, sites=sites)


def test_every_round_with_the_minimum_is_good() -> None:
    rounds = [done(0, True, True), done(1, True, False)]
    assert judge(rounds, rounds=[0, 1], minimum=1, stopped_early=False) == [0, 1]


def test_a_missing_round_is_no_success() -> None:
    with pytest.raises(Failure, match="before round 2 of 2"):
        judge([done(0, True)], rounds=[0, 1], minimum=1, stopped_early=False)


def test_stopping_after_a_round_keeps_what_was_averaged() -> None:
    assert judge([done(0, True)], rounds=[0, 1], minimum=1, stopped_early=True) == [0]


def test_a_round_below_the_minimum_fails_with_the_refusal_as_cause() -> None:
    cause = Cause(code="update_refused", sentence="site-2: model.weight has NaN")
    with pytest.raises(Failure, match="has NaN"):
        judge([done(0, True, False, refused=cause)], rounds=[0], minimum=2, stopped_early=False)


def test_a_round_below_the_minimum_without_a_refusal_says_so() -> None:
    with pytest.raises(Failure) as found:
        judge([done(0, True)], rounds=[0], minimum=2, stopped_early=False)
    assert (found.value.cause.code, found.value.cause.round) == ("below_minimum", 0)


def test_a_finite_model_passes(tmp_path: Path) -> None:
    torch.save({"w": torch.ones(3), "n": torch.tensor(4)}, tmp_path / "m.pt")
    assert load_finite(tmp_path / "m.pt") == 2


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_model_that_is_not_finite_fails(value: float, tmp_path: Path) -> None:
    torch.save({"w": torch.tensor([1.0, value])}, tmp_path / "m.pt")
    with pytest.raises(Failure, match=r"w in m\.pt"):
        load_finite(tmp_path / "m.pt")


def test_no_model_and_no_weights_fail(tmp_path: Path) -> None:
    torch.save({}, tmp_path / "empty.pt")
    (tmp_path / "text.pt").write_text("no model")
    for name in ("absent.pt", "empty.pt", "text.pt"):
        with pytest.raises(Failure) as found:
            load_finite(tmp_path / name)
        assert found.value.cause.code == "model_invalid"


def test_a_mask_of_infinities_is_a_sound_part_of_a_model(tmp_path: Path) -> None:
    torch.save({"mask": torch.triu(torch.full((3, 3), -torch.inf), 1)}, tmp_path / "model.pt")
    assert load_finite(tmp_path / "model.pt") == 1

"""A job is good when every round has its minimum and a finite model loads; nothing else counts."""

from pathlib import Path

import pytest
import torch
from tutti_worker.federation.journal import read_events, write_event
from tutti_worker.federation.verdict import verdict

from chalicelib.contracts.job import Cause, ReasonCode
from chalicelib.contracts.worker import FailedEvent, HeartbeatEvent, RoundDoneEvent, SiteResult, WorkerEvent


def done(round: int, accepted: int) -> RoundDoneEvent:
    return RoundDoneEvent(round=round, sites={f"site-{n}": SiteResult(accepted=n < accepted) for n in range(3)})


def code(events: list[WorkerEvent], model: Path) -> ReasonCode | None:
    cause = verdict(events, rounds=range(2), minimum=2, model=model)
    return cause.code if cause else None


@pytest.fixture(name="model")
def saved_model(tmp_path: Path) -> Path:
    torch.save({"w": torch.ones(2), "steps": torch.tensor(3)}, tmp_path / "model.pt")
    return tmp_path / "model.pt"


def test_complete_rounds_and_a_finite_model_are_good(model: Path) -> None:
    assert code([done(0, 2), done(1, 3)], model) is None


def test_the_first_failure_is_the_verdict(model: Path) -> None:
    causes = [Cause(code=code, sentence="") for code in (ReasonCode.NO_SAMPLES, ReasonCode.PLATFORM_ERROR)]
    assert code([done(0, 3), *(FailedEvent(cause=cause) for cause in causes)], model) == ReasonCode.NO_SAMPLES


def test_a_round_below_its_minimum_is_bad(model: Path) -> None:
    assert code([done(0, 2), done(1, 1)], model) == ReasonCode.BELOW_MINIMUM


def test_a_round_that_never_ended_is_bad(model: Path) -> None:
    assert code([done(0, 2)], model) == ReasonCode.PLATFORM_ERROR


@pytest.mark.parametrize("content", [{"w": torch.tensor([float("nan")])}, {}, [1]])
def test_a_model_that_is_none_is_bad(model: Path, content: object) -> None:
    torch.save(content, model)
    assert code([done(0, 2), done(1, 2)], model) == ReasonCode.MODEL_INVALID


def test_a_missing_model_is_bad(tmp_path: Path) -> None:
    assert code([done(0, 2), done(1, 2)], tmp_path / "none.pt") == ReasonCode.MODEL_INVALID


def test_a_file_that_is_no_model_is_bad(model: Path) -> None:
    model.write_bytes(b"no model")
    assert code([done(0, 2), done(1, 2)], model) == ReasonCode.MODEL_INVALID


def test_the_journal_gives_back_what_was_written(tmp_path: Path) -> None:
    write_event(done(1, 2))
    assert read_events(tmp_path / "journal")[0] == [done(1, 2)]


def test_a_line_still_being_written_waits_for_the_next_reading(tmp_path: Path) -> None:
    write_event(HeartbeatEvent())
    with (tmp_path / "journal").open("a") as file:
        file.write('{"type": "heart')
    _, offset = read_events(tmp_path / "journal")
    with (tmp_path / "journal").open("a") as file:
        file.write('beat"}\n')
    assert read_events(tmp_path / "journal", offset)[0] == [HeartbeatEvent()]


def test_a_line_that_is_no_event_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("print from user code\n")
    write_event(HeartbeatEvent())
    assert read_events(tmp_path / "journal")[0] == [HeartbeatEvent()]

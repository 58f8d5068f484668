"""What the guard lets through, whom it blames, and what it writes into the journal."""

import errno
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import FLContextKey
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.app_event_type import AppEventType
from tutti_worker.federation.journal import read_events
from tutti_worker.federation.store import UpdateStore

from chalicelib.contracts.job import Cause, ReasonCode
from chalicelib.contracts.worker import FailedEvent, RoundDoneEvent, SiteResult
from tests.worker.federation.builders import Server, arrays, failure, update

MODEL = arrays(w=[0, 0])
GOOD = arrays(w=[1, 1])
RAISED = {"code": "training_raised", "sentence": "fl_train_model raised ValueError: boom", "line": 7}


def results(server: Server) -> dict[str, SiteResult]:
    event = server.events("round_done")[0]
    assert isinstance(event, RoundDoneEvent)
    return event.sites


def failures(server: Server) -> list[Cause]:
    return [event.cause for event in server.events() if isinstance(event, FailedEvent)]


def test_a_round_is_journalled_with_each_sites_part(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL, sites=2)
    server.play(update("site-2", GOOD, 5), update("site-1", GOOD, 3))
    assert {site: result.samples for site, result in results(server).items()} == {"site-1": 3, "site-2": 5}


def test_a_failed_site_is_named_with_its_own_cause(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL)
    server.play(failure("site-2", RAISED), update("site-1", GOOD))
    refused = results(server)["site-2"].refused
    assert refused is not None
    assert (refused.code, refused.site, refused.line) == (ReasonCode.TRAINING_RAISED, "site-2", 7)


def test_a_failure_of_another_executor_is_told_by_its_code(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL)
    server.play(failure("site-2", None), update("site-1", GOOD))
    refused = results(server)["site-2"].refused
    assert refused is not None
    assert "EXECUTION_EXCEPTION" in refused.sentence


def test_an_update_with_nan_does_not_reach_the_average(tmp_path: Path) -> None:
    data = Server(tmp_path, MODEL).play(update("site-1", GOOD), update("site-2", arrays(w=[np.nan, 1])))
    assert data["w"].tolist() == [1.0, 1.0]


def test_a_refused_update_keeps_its_samples_in_the_book(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL)
    server.play(update("site-1", GOOD), update("site-2", arrays(w=[np.nan, 1]), 9))
    result = results(server)["site-2"]
    assert (result.accepted, result.samples) == (False, 9)


def test_whoever_has_not_answered_is_in_the_round_as_refused(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL, minimum=1, sites=2)
    server.play(update("site-2", GOOD, 5))
    refused = results(server)["site-1"].refused
    assert refused is not None
    assert refused.sentence == "site-1 had not answered when the round was averaged"


def test_a_refused_update_names_the_place_of_the_function_that_made_it(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL, sites=2)
    bad = update("site-2", arrays(w=[1, 2, 3]))
    bad["DXO"]["meta"]["tutti_place"] = {"file": "scripts/model_def.py", "line": 7}
    server.play(bad, update("site-1", GOOD))
    refused = results(server)["site-2"].refused
    assert refused is not None
    assert (refused.file, refused.line) == ("scripts/model_def.py", 7)


@pytest.mark.parametrize("place", [7, {"file": ["a"], "line": "many"}])
def test_a_place_that_is_none_costs_no_cause(tmp_path: Path, place: object) -> None:
    server = Server(tmp_path, MODEL, sites=2)
    bad = update("site-2", arrays(w=[1, 2, 3]))
    bad["DXO"]["meta"]["tutti_place"] = place
    server.play(bad, update("site-1", GOOD))
    refused = results(server)["site-2"].refused
    assert refused is not None
    assert (refused.code, refused.file) == (ReasonCode.UPDATE_REFUSED, None)


def test_whoever_has_the_wrong_shape_is_blamed_though_first(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL, sites=2)
    server.play(update("site-2", arrays(w=[1, 2, 3])), update("site-1", GOOD))
    assert [site for site, result in results(server).items() if not result.accepted] == ["site-2"]


def test_a_common_prefix_is_mapped_to_the_models_names(tmp_path: Path) -> None:
    data = Server(tmp_path, MODEL).play(update("site-1", GOOD), update("site-2", {"module.w": np.array([3, 3], np.float32)}))
    assert {name: value.tolist() for name, value in data.items()} == {"w": [2.0, 2.0]}


@pytest.mark.parametrize("samples", [-1, 0.5, "many"])
def test_a_count_that_is_none_is_refused(tmp_path: Path, samples: Any) -> None:
    server = Server(tmp_path, MODEL)
    server.start()
    assert not server.arrive(update("site-1", GOOD, samples))


def test_a_site_without_samples_is_shown_as_such(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL)
    server.play(update("site-1", GOOD, 0), update("site-2", GOOD, 4))
    assert (results(server)["site-1"].accepted, results(server)["site-1"].samples) == (True, 0)


def test_a_round_in_which_nobody_had_samples_fails_the_job(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL)
    server.play(update("site-1", GOOD, 0), update("site-2", GOOD, 0))
    assert [cause.code for cause in failures(server)] == [ReasonCode.NO_SAMPLES]


def test_a_failed_round_is_not_journalled_as_done(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL)
    server.play(update("site-1", GOOD, 0))
    assert server.events("round_done") == []


def test_too_few_good_updates_fail_the_job_with_the_first_cause(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL, minimum=2)
    server.play(failure("site-3", RAISED), update("site-1", GOOD), failure("site-2", {**RAISED, "sentence": "later"}))
    assert [(cause.site, cause.sentence) for cause in failures(server)] == [("site-3", RAISED["sentence"])]


def test_silence_beyond_the_training_timeout_is_a_time_out(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL, minimum=2, sites=2)
    server.fl_ctx.set_prop("tutti_train_timeout", 1e-9, private=True)
    server.play(update("site-1", GOOD))
    assert [(cause.code, cause.site) for cause in failures(server)] == [(ReasonCode.ROUND_TIMED_OUT, "site-2")]


def test_silence_without_a_timeout_is_below_the_minimum(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL, minimum=2, sites=2)
    server.play(update("site-1", GOOD))
    assert [cause.code for cause in failures(server)] == [ReasonCode.BELOW_MINIMUM]


def test_what_the_aggregator_rejects_does_not_count(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL)
    server.start()
    server.arrive(update("site-1", GOOD))
    server.tell(AppEventType.AFTER_CONTRIBUTION_ACCEPT, **{AppConstants.AGGREGATION_ACCEPTED: False})
    server.tell(AppEventType.BEFORE_AGGREGATION)
    assert [cause.code for cause in failures(server)] == [ReasonCode.UPDATE_REFUSED]


def test_a_late_update_is_refused_and_warned_of(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL)
    server.play(update("site-1", GOOD))
    accepted = server.arrive(update("site-2", GOOD))
    assert (accepted, [event.type for event in server.events()][-1]) == (False, "warning")


def test_an_update_for_an_earlier_round_is_refused(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL)
    server.start(round=1)
    assert not server.arrive(update("site-2", GOOD, round=0))


def test_without_first_weights_the_first_update_decides_the_form(tmp_path: Path) -> None:
    server = Server(tmp_path, {})
    server.start()
    assert [server.arrive(update("site-1", GOOD)), server.arrive(update("site-2", arrays(w=[1])))] == [True, False]


def test_a_round_that_nobody_declares_done_is_closed_by_the_next(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL)
    server.start()
    server.arrive(update("site-1", GOOD))
    server.start(round=1)
    assert [event.type for event in server.events()] == ["round_started", "round_done", "round_started"]


def test_the_model_a_job_does_not_save_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTTI_MODEL_DIR", str(tmp_path / "models"))
    server = Server(tmp_path, MODEL)
    server.hold(GOOD, {"tutti_dtypes": {"w": "bfloat16"}})
    server.play(update("site-1", GOOD))
    state = torch.load(tmp_path / "models/rounds/round_0.pt", weights_only=True)
    assert state["w"].dtype == torch.bfloat16


def test_a_model_already_saved_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTTI_MODEL_DIR", str(tmp_path))
    (tmp_path / "rounds").mkdir()
    (tmp_path / "rounds/round_0.pt").write_bytes(b"mine")
    Server(tmp_path, MODEL).play(update("site-1", GOOD))
    assert (tmp_path / "rounds/round_0.pt").read_bytes() == b"mine"


def panicking(server: Server, text: str, times: int = 1) -> list[Cause]:
    for _ in range(times):
        server.tell(EventType.FATAL_SYSTEM_ERROR, **{FLContextKey.EVENT_DATA: text})
    return failures(server)


def test_only_the_first_panic_is_journalled(tmp_path: Path) -> None:
    assert len(panicking(Server(tmp_path, MODEL), "something", times=3)) == 1


def test_the_cause_in_a_panics_last_line_is_taken(tmp_path: Path) -> None:
    cause = Cause(code=ReasonCode.CHECKPOINT_FAILED, sentence="it does not fit")
    assert panicking(Server(tmp_path, MODEL), f"it does not fit\n{cause.model_dump_json()}") == [cause]


def test_nvflares_own_panic_about_a_result_gets_the_sites_cause(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL)
    server.start()
    server.arrive(failure("site-2", RAISED))
    assert [cause.line for cause in panicking(server, "Result from site-2 is bad, error code: X.")] == [7]


@pytest.mark.parametrize(("text", "code"), [
    ("Aborting job due to deployment policy violation", ReasonCode.BELOW_MINIMUM),
    ("Aborted job 1 due to fatal return code TASK_UNKNOWN from client site-1", ReasonCode.CONFIG_INVALID),
    ("Exception in workflow scatter_and_gather: KeyError", ReasonCode.MODEL_BUILD_FAILED),
])  # fmt: skip
def test_any_other_panic_before_a_round_is_read_by_its_words(tmp_path: Path, text: str, code: ReasonCode) -> None:
    assert [cause.code for cause in panicking(Server(tmp_path, MODEL), text)] == [code]


def full_disk(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_an_update_that_a_full_disk_cannot_hold_is_not_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(tmp_path, MODEL)
    server.start()
    monkeypatch.setattr(UpdateStore, "put", full_disk)
    assert not server.arrive(update("site-1", GOOD))


def test_a_full_disk_on_the_server_is_the_cause_of_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UpdateStore, "put", full_disk)
    server = Server(tmp_path, MODEL)
    server.play(update("site-1", GOOD))
    assert [(cause.code, cause.site) for cause in failures(server)] == [(ReasonCode.DISK_FULL, "server")]


def test_an_update_that_the_aggregator_does_not_hold_is_struck_from_the_book(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL)
    server.start()
    for site in ("site-1", "site-2"):
        server.arrive(update(site, GOOD))
    server.average._weights.pop("site-2")
    server.tell(AppEventType.BEFORE_AGGREGATION)
    server.tell(AppEventType.ROUND_DONE)
    assert [site for site, result in results(server).items() if result.accepted] == ["site-1"]


def test_whoever_is_refused_after_being_stored_is_not_averaged(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL)
    data = server.play(update("site-1", GOOD), update("site-2", arrays(w=[5, 5])), failure("site-2", RAISED))
    assert data["w"].tolist() == [1.0, 1.0]


def test_an_update_between_the_average_and_the_rounds_end_is_late(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL)
    server.start()
    server.arrive(update("site-1", GOOD))
    server.tell(AppEventType.BEFORE_AGGREGATION)
    server.arrive(update("site-2", GOOD))
    server.tell(AppEventType.ROUND_DONE)
    accepted = [site for site, result in results(server).items() if result.accepted]
    assert (accepted, len(server.events("warning"))) == (["site-1"], 1)


def test_a_site_that_died_is_named_though_no_longer_connected(tmp_path: Path) -> None:
    server = Server(tmp_path, MODEL, minimum=2, sites=2)
    server.start()
    server.engine.clients = ("site-1",)
    server.arrive(update("site-1", GOOD))
    server.tell(AppEventType.BEFORE_AGGREGATION)
    assert [(cause.code, cause.site) for cause in failures(server)] == [(ReasonCode.BELOW_MINIMUM, "site-2")]


def test_a_model_that_a_full_disk_cannot_hold_ends_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTTI_MODEL_DIR", str(tmp_path / "models"))
    monkeypatch.setattr(torch, "save", full_disk)
    server = Server(tmp_path, MODEL)
    server.play(update("site-1", GOOD))
    assert ([cause.code for cause in failures(server)], server.events("round_done")) == ([ReasonCode.DISK_FULL], [])


@pytest.mark.parametrize("text", [
    "Exception in ScatterAndGather control_flow: OSError: [Errno 28] No space left on device",
    "Exception in ScatterAndGather control_flow: RuntimeError: PytorchStreamWriter failed writing file data/0",
])  # fmt: skip
def test_a_panic_about_a_full_disk_is_read_by_its_words(tmp_path: Path, text: str) -> None:
    assert [cause.code for cause in panicking(Server(tmp_path, MODEL), text)] == [ReasonCode.DISK_FULL]


def test_a_model_above_the_platforms_limit_ends_the_job_before_a_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTTI_MODEL_LIMIT", "7")
    Server(tmp_path, arrays(w=[0, 0]))
    [event] = read_events(tmp_path / "journal")[0]
    assert isinstance(event, FailedEvent)
    assert (event.cause.code, "8 bytes" in event.cause.sentence) == ("model_too_large", True)

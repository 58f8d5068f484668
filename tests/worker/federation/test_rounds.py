"""What the workflow adds to NVFLARE's own: the true number of rounds, and measures of the new global model."""

from pathlib import Path
from typing import Any

import pytest
from nvflare.apis.client import Client
from nvflare.apis.controller_spec import ClientTask, Task
from nvflare.apis.dxo import DXO, DataKind
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.app_event_type import AppEventType
from tutti_worker.federation.journal import read_events
from tutti_worker.federation.rounds import TuttiScatterAndGather

from chalicelib.contracts.worker import WarningEvent
from tests.job_scripts.builders import Engine, context


def workflow(folder: Path, **args: Any) -> TuttiScatterAndGather:
    made = TuttiScatterAndGather(min_clients=1, persistor_id="persistor", **args)
    made._measured = {}
    made.fl_ctx = context(Engine(folder), "server")
    return made


def answer(result: Shareable | None = None, site: str = "site-1") -> ClientTask:
    task = ClientTask(Client(site, "token"), Task(name="train", data=Shareable()))
    task.result = result
    return task


def test_a_resumed_job_tells_its_sites_the_number_of_all_rounds(tmp_path: Path) -> None:
    resumed, task = workflow(tmp_path, start_round=5, num_rounds=3), answer()
    resumed._prepare_train_task_data(task, resumed.fl_ctx)
    assert task.task.data.get_header(AppConstants.NUM_ROUNDS) == 8


def test_a_sites_measure_is_kept_under_its_name(tmp_path: Path) -> None:
    asked = workflow(tmp_path)
    measure = DXO(DataKind.METRICS, data={}, meta={"tutti_metrics": {"accuracy": 0.5, "loss": float("nan")}})
    asked._take_measure(answer(measure.to_shareable(), "site-2"), asked.fl_ctx)
    assert asked._measured == {"site-2": {"accuracy": 0.5, "loss": None}}


def test_a_validation_that_raises_is_a_warning_that_names_the_site(tmp_path: Path) -> None:
    asked, reply = workflow(tmp_path), make_reply(ReturnCode.EXECUTION_EXCEPTION)
    reply.set_header("tutti_error", {"code": "training_raised", "sentence": "fl_validate_model raised KeyError: 'x'"})
    asked._take_measure(answer(reply, "site-3"), asked.fl_ctx)
    sentence = "site-3 could not validate the model: fl_validate_model raised KeyError: 'x'"
    assert read_events(tmp_path / "journal")[0] == [WarningEvent(code="validate_failed", sentence=sentence)]


def after_round(folder: Path, round: int, *, asked: bool) -> int:
    """How many rounds the workflow has once a round is averaged."""
    made = workflow(folder, start_round=2, num_rounds=5)
    made._current_round = round
    if asked:
        (folder / "stop").touch()
    made.fire_event(AppEventType.AFTER_SHAREABLE_TO_LEARNABLE, made.fl_ctx)
    return int(made._num_rounds)


def test_a_job_asked_to_stop_makes_the_round_its_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTTI_STOP_AFTER_ROUND", str(tmp_path / "stop"))
    assert after_round(tmp_path, 3, asked=True) == 2


def test_a_job_not_asked_to_stop_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTTI_STOP_AFTER_ROUND", str(tmp_path / "stop"))
    assert after_round(tmp_path, 3, asked=False) == 5

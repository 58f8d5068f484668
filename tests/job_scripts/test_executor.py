"""What user code gets from the executor, and what the server gets from user code."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from nvflare.apis.dxo import MetaKey, from_shareable
from nvflare.apis.fl_constant import ReturnCode

from tests.job_scripts.builders import Site, context, importable, request

W = {"w": np.ones(3, np.float32)}
RETURNS = "def fl_train_model(payload, out_dir, logger=None):\n    return {body}\n"


def returning(body: str) -> str:
    return "import math, torch, numpy as np\n" + RETURNS.format(body=body)


def seen(tmp_path: Path, expression: str, weights: dict[str, Any] | None = None, **args: Any) -> Any:
    """What an expression over payload is inside the training function."""
    code = "import json, torch\n" + RETURNS.format(
        body=f"{{'weights': {{'w': torch.ones(3)}}, 'samples': 1}} if not open(out_dir + '/seen', 'w')"
        f".write(json.dumps({expression}, default=str)) else {{'weights': {{'w': torch.ones(3)}}, 'samples': 1}}"
    )
    site = Site(tmp_path, code, **args)
    site.train(W if weights is None else weights, round=2, rounds=5)
    return json.loads((tmp_path / "run/run-1/runs/seen").read_text())


def error(tmp_path: Path, code: str) -> dict[str, Any]:
    reply = Site(tmp_path, code).train(W, round=4)
    found = reply.get_header("tutti_error")
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", ["learning_rate", "LEARNING_RATE", "LR"])
def test_a_parameter_is_found_under_both_spellings_and_its_alias(tmp_path: Path, name: str) -> None:
    assert seen(tmp_path, f"payload['env']['{name}']", learning_rate=0.5) == 0.5


def test_a_parameter_named_epochs_beats_the_alias(tmp_path: Path) -> None:
    assert seen(tmp_path, "payload['env']['EPOCHS']", local_epochs=2, epochs=7) == 7


def test_the_guides_defaults_are_there_without_parameters(tmp_path: Path) -> None:
    assert seen(tmp_path, "[payload['env']['IMG_SIZE'], payload['env']['NUM_CLASSES']]") == [224, 0]


def test_round_and_number_of_rounds_reach_the_function(tmp_path: Path) -> None:
    expression = "[payload['env'][k] for k in ('CURRENT_ROUND', 'NUM_ROUNDS', 'SITE_NAME')]"
    assert seen(tmp_path, expression) == [2, 5, "site-1"]


def test_the_unpacked_shards_folder_beats_the_configs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTTI_DATA_ROOT", "/somewhere/shard")
    assert seen(tmp_path, "payload['dataset']['data_root']") == "/somewhere/shard"


def test_a_manifest_in_the_shard_reaches_the_function(tmp_path: Path) -> None:
    shard = tmp_path / "shard"
    shard.mkdir()
    (shard / "manifest.ndjson").write_text('{"image": "a.png"}\n\n{"image": "b.png"}\n')
    code = returning("{'weights': {'w': torch.ones(3)}, 'samples': len(payload['dataset']['manifest'])}")
    site = Site(tmp_path, code)
    site.executor.data_root = str(shard)
    assert from_shareable(site.train(W)).meta[MetaKey.NUM_STEPS_CURRENT_ROUND] == 2


def test_initial_weights_are_tensors_of_the_models_own_dtype(tmp_path: Path) -> None:
    site = Site(tmp_path, returning("{'weights': payload['initial_weights'], 'samples': 1, 'half': "
                                    "float(payload['initial_weights']['w'].dtype == torch.bfloat16)}"))  # fmt: skip
    reply = from_shareable(site.train(W, tutti_dtypes={"w": "bfloat16"}))
    assert reply.meta["tutti_metrics"] == {"half": 1.0}


def test_a_dtype_told_only_in_the_first_round_is_remembered(tmp_path: Path) -> None:
    site = Site(tmp_path, returning("{'weights': payload['initial_weights'], 'samples': 1, 'half': "
                                    "float(payload['initial_weights']['w'].dtype == torch.bfloat16)}"))  # fmt: skip
    site.train(W, tutti_dtypes={"w": "bfloat16"})
    assert from_shareable(site.train(W, round=1)).meta["tutti_metrics"] == {"half": 1.0}


def test_no_weights_from_the_server_are_none(tmp_path: Path) -> None:
    assert seen(tmp_path, "payload['initial_weights'] is None", weights={}) is True


def test_bfloat16_weights_travel_as_the_global_models_float32(tmp_path: Path) -> None:
    site = Site(tmp_path, returning("{'weights': {'w': torch.ones(3, dtype=torch.bfloat16)}, 'samples': 1}"))
    assert from_shareable(site.train(W)).data["w"].dtype == np.float32


def test_a_half_that_the_server_does_not_know_is_named_beside_the_weights(tmp_path: Path) -> None:
    site = Site(tmp_path, returning("{'weights': {'w': torch.ones(3, dtype=torch.float16)}, 'samples': 1}"))
    assert from_shareable(site.train(None)).meta["tutti_dtypes"] == {"w": "float16"}


def test_whoever_gets_tensors_answers_with_tensors(tmp_path: Path) -> None:
    site = Site(tmp_path, returning("{'weights': {'w': torch.nn.Parameter(torch.ones(2, 3).T)}, 'samples': 1}"))
    value = from_shareable(site.train({"w": torch.ones(3, 2)})).data["w"]
    assert type(value) is torch.Tensor
    assert value.is_contiguous()
    assert not value.requires_grad


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "module._orig_mod."])
def test_a_wrappers_prefix_is_taken_off(tmp_path: Path, prefix: str) -> None:
    site = Site(tmp_path, returning(f"{{'weights': {{'{prefix}w': torch.ones(3)}}, 'samples': 1}}"))
    assert list(from_shareable(site.train(W)).data) == ["w"]


def test_a_prefix_stays_when_the_names_would_not_fit_without_it(tmp_path: Path) -> None:
    site = Site(tmp_path, returning("{'weights': {'module.v': torch.ones(3)}, 'samples': 1}"))
    assert list(from_shareable(site.train(W)).data) == ["module.v"]


def test_extra_state_reaches_the_function_and_does_not_travel_back(tmp_path: Path) -> None:
    site = Site(tmp_path, returning("{'weights': payload['initial_weights'], 'samples': "
                                    "len(payload['initial_weights']['_extra_state']['names'])}"))  # fmt: skip
    reply = from_shareable(site.train(W, tutti_extras={"_extra_state": {"names": ["a", "b"]}}))
    assert (list(reply.data), reply.meta[MetaKey.NUM_STEPS_CURRENT_ROUND]) == (["w"], 2)


def test_another_entry_that_is_no_tensor_is_refused_by_name(tmp_path: Path) -> None:
    cause = error(tmp_path, returning("{'weights': {'w': torch.ones(3), 'note': 'hello'}, 'samples': 1}"))
    assert "weights['note'] is a str" in cause["sentence"]


def test_a_single_number_among_the_weights_is_a_tensor(tmp_path: Path) -> None:
    site = Site(tmp_path, returning("{'weights': {'w': np.float64(2)}, 'samples': 1}"))
    assert from_shareable(site.train({"w": np.array(1.0, np.float32)})).data["w"].dtype == np.float32


@pytest.mark.parametrize("body", [
    "{'state_dict': {'w': torch.ones(3)}, 'samples': 1}",
    "torch.save({'w': torch.ones(3)}, out_dir + '/best.pt') or {'final_checkpoint': 'best.pt', 'samples': 1}",
    "torch.save({'state_dict': {'w': torch.ones(3)}}, out_dir + '/state_dict.pt') or {'samples': 1}",
])  # fmt: skip
def test_weights_are_found_wherever_the_function_left_them(tmp_path: Path, body: str) -> None:
    assert list(from_shareable(Site(tmp_path, returning(body)).train(W)).data) == ["w"]


def test_a_state_dict_of_an_earlier_round_is_not_taken_again(tmp_path: Path) -> None:
    body = "(payload['env']['CURRENT_ROUND'] or torch.save({'w': torch.ones(3)}, out_dir + '/state_dict.pt')) and 0"
    site = Site(tmp_path, returning(f"({body}) or {{'samples': 1}}"))
    site.train(W, round=0)
    assert "no weights" in site.train(W, round=1).get_header("tutti_error")["sentence"]


@pytest.mark.parametrize(("value", "metric"), [
    ("1", 1.0), ("np.float32(0.5)", 0.5), ("torch.tensor(2)", 2.0), ("np.array(3)", 3.0), ("math.nan", None),
    ("float('-inf')", None), ("10**400", None),
])  # fmt: skip
def test_a_number_beside_the_weights_is_a_metric(tmp_path: Path, value: str, metric: float | None) -> None:
    site = Site(tmp_path, returning(f"{{'weights': {{'w': torch.ones(3)}}, 'samples': 1, 'm': {value}}}"))
    assert from_shareable(site.train(W)).meta["tutti_metrics"] == {"m": metric}


@pytest.mark.parametrize("value", ["True", "np.bool_(1)", "'text'", "[1.0]", "torch.ones(2)", "None"])
def test_what_is_no_number_is_no_metric(tmp_path: Path, value: str) -> None:
    site = Site(tmp_path, returning(f"{{'weights': {{'w': torch.ones(3)}}, 'samples': 1, 'm': {value}}}"))
    assert from_shareable(site.train(W)).meta["tutti_metrics"] == {}


@pytest.mark.parametrize("samples", ["0", "32.0", "np.int64(5)", "torch.tensor(5)"])
def test_a_whole_number_of_samples_is_taken(tmp_path: Path, samples: str) -> None:
    site = Site(tmp_path, returning(f"{{'weights': {{'w': torch.ones(3)}}, 'samples': {samples}}}"))
    assert type(from_shareable(site.train(W)).meta[MetaKey.NUM_STEPS_CURRENT_ROUND]) is int


@pytest.mark.parametrize("rest", ["", ", 'samples': -1", ", 'samples': 1.5", ", 'samples': True", ", 'samples': '9'"])
def test_any_other_count_of_samples_is_a_wrong_return(tmp_path: Path, rest: str) -> None:
    assert error(tmp_path, returning(f"{{'weights': {{'w': torch.ones(3)}}{rest}}}"))["code"] == "wrong_return"


def test_a_tuple_is_refused_with_what_is_wanted(tmp_path: Path) -> None:
    sentence = error(tmp_path, returning("{'w': torch.ones(3)}, 32"))["sentence"]
    assert all(word in sentence for word in ("tuple of 2", "weights", "samples"))


def test_an_async_function_is_refused_as_such(tmp_path: Path) -> None:
    assert "coroutine" in error(tmp_path, "async " + RETURNS.format(body="1"))["sentence"]


def test_an_exception_is_placed_in_the_users_own_file(tmp_path: Path) -> None:
    cause = error(tmp_path, "import json\n\ndef fl_train_model(payload, out_dir, logger=None):\n    json.loads('{')\n")
    assert (cause["code"], cause["file"], cause["line"]) == ("training_raised", "scripts/model_def.py", 4)


def test_a_cause_names_site_round_type_and_message(tmp_path: Path) -> None:
    cause = error(tmp_path, returning("1 / 0"))
    expected = ("site-1", 4, "fl_train_model raised ZeroDivisionError: division by zero")
    assert (cause["site"], cause["round"], cause["sentence"]) == expected


def test_the_evidence_ends_with_the_traceback_and_shows_no_folder_of_the_machine(tmp_path: Path) -> None:
    evidence = error(tmp_path, returning("1 / 0"))["evidence"]
    assert evidence[-1] == "ZeroDivisionError: division by zero"
    assert str(tmp_path) not in "".join(evidence)


@pytest.mark.parametrize("body", ["exit(3)", "exec('raise KeyboardInterrupt')", "exec('raise BaseException')"])
def test_nothing_user_code_raises_ends_the_site(tmp_path: Path, body: str) -> None:
    assert error(tmp_path, returning(body))["code"] == "training_raised"


def test_a_syntax_error_is_an_import_failure_with_its_line(tmp_path: Path) -> None:
    cause = error(tmp_path, "x = 1\ndef fl_train_model(:\n")
    assert (cause["code"], cause["file"], cause["line"]) == ("import_failed", "scripts/model_def.py", 2)


def test_a_missing_package_is_an_import_failure_that_names_it(tmp_path: Path) -> None:
    cause = error(tmp_path, "import no_such_package\n")
    assert (cause["code"], cause["line"]) == ("import_failed", 1)
    assert "no_such_package" in cause["sentence"]


def test_parse_args_on_import_is_an_import_failure(tmp_path: Path) -> None:
    assert "SystemExit" in error(tmp_path, "raise SystemExit(2)\n")["sentence"]


def test_a_missing_function_is_named(tmp_path: Path) -> None:
    cause = error(tmp_path, "def train(): ...\n")
    expected = ("name_missing", "scripts/model_def.py has no function fl_train_model")
    assert (cause["code"], cause["sentence"]) == expected


def test_a_failure_is_also_left_in_the_output_folder(tmp_path: Path) -> None:
    error(tmp_path, returning("1 / 0"))
    assert json.loads((tmp_path / "run/run-1/runs/error.json").read_text())["code"] == "training_raised"


def test_a_last_batch_of_one_gets_its_hint(tmp_path: Path) -> None:
    cause = error(tmp_path, returning("torch.nn.BatchNorm1d(2)(torch.ones(1, 2))"))
    assert "drop_last" in cause["sentence"]


def test_an_unknown_task_is_said_to_be_unknown(tmp_path: Path) -> None:
    reply = Site(tmp_path, returning("1")).run("get_metrics", request(W))
    assert reply.get_return_code() == ReturnCode.TASK_UNKNOWN


def test_after_an_abort_the_answer_says_so(tmp_path: Path) -> None:
    site = Site(tmp_path, returning("{'weights': {'w': torch.ones(3)}, 'samples': 1}"))
    site.abort.trigger(True)
    assert site.train(W).get_return_code() == ReturnCode.TASK_ABORTED


def test_the_logger_stops_user_code_after_an_abort(tmp_path: Path) -> None:
    loop = "def fl_train_model(payload, out_dir, logger=None):\n    while True: logger('step')\n"
    site = Site(tmp_path, loop)
    stop = threading.Timer(0.2, site.abort.trigger, [True])
    stop.start()
    reply = site.train(W)
    stop.join()
    assert reply.get_return_code() == ReturnCode.TASK_ABORTED


VALIDATES = (
    returning("{'weights': {'w': torch.ones(3)}, 'samples': 1}") + "def fl_validate_model(payload, out_dir, logger=None):\n"
    "    return {'accuracy': float(payload['initial_weights']['w'].mean()), 'samples': 7}\n"
)


def test_validation_measures_the_weights_that_came(tmp_path: Path) -> None:
    reply = from_shareable(Site(tmp_path, VALIDATES).run("validate", request({"w": np.full(3, 0.25, np.float32)})))
    assert reply.meta["tutti_metrics"] == {"accuracy": 0.25}


@pytest.mark.parametrize(("code", "routed", "validates"), [
    (VALIDATES, ("train", "validate"), True),
    (VALIDATES, ("train",), False),
    (VALIDATES.replace("fl_validate_model", "other"), ("train", "validate"), False),
])  # fmt: skip
def test_an_answer_says_whether_the_site_can_be_asked_to_validate(
    tmp_path: Path, code: str, routed: tuple[str, ...], validates: bool
) -> None:
    reply = Site(tmp_path, code).run("train", request(W), routed)
    assert from_shareable(reply).meta["tutti_validates"] is validates


def test_submit_gives_the_last_local_weights(tmp_path: Path) -> None:
    site = Site(tmp_path, returning("{'weights': {'w': torch.full((3,), 5.0)}, 'samples': 1}"))
    site.train(W)
    assert from_shareable(site.run("submit_model", request(None))).data["w"].tolist() == [5.0] * 3


def test_progress_reaches_the_journal_with_its_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTTI_JOURNAL", str(tmp_path / "journal"))
    call = "logger({'epoch': 1, 'of': 3, 'loss': float('nan'), 'acc': 0.5, 'note': 'x'})"
    Site(tmp_path, returning(f"{call} or {{'weights': {{'w': torch.ones(3)}}, 'samples': 1}}")).train(W, round=2)
    lines = [json.loads(line) for line in (tmp_path / "journal").read_text().splitlines()]
    expected = {"type": "progress", "round": 2, "step": 1, "of": 3, "metrics": {"loss": None, "acc": 0.5}}
    assert expected in lines


def test_the_journal_follows_the_phases_of_a_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTTI_JOURNAL", str(tmp_path / "journal"))
    Site(tmp_path, returning("{'weights': {'w': torch.ones(3)}, 'samples': 1}")).train(W)
    lines = [json.loads(line) for line in (tmp_path / "journal").read_text().splitlines()]
    assert [line["phase"] for line in lines] == ["training", "uploading"]


def test_a_loop_that_logs_every_batch_does_not_flood_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTTI_JOURNAL", str(tmp_path / "journal"))
    loop = "[logger({'step': i, 'of': 3000}) for i in range(1, 3001)] and"
    Site(tmp_path, returning(f"{loop} {{'weights': {{'w': torch.ones(3)}}, 'samples': 1}}")).train(W)
    steps = [line for line in (tmp_path / "journal").read_text().splitlines() if "progress" in line]
    assert len(steps) < 300
    assert json.loads(steps[-1])["step"] == 3000


@pytest.mark.parametrize("method", ["", ".debug", ".info", ".warning", ".error"])
def test_the_logger_is_callable_and_has_the_usual_methods(tmp_path: Path, method: str) -> None:
    body = f"logger{method}('at %d', 3) or {{'weights': {{'w': torch.ones(3)}}, 'samples': 1}}"
    assert Site(tmp_path, returning(body)).train(W).get_return_code() == ReturnCode.OK


@pytest.mark.parametrize("record", ["{'epoch': 1, 'of': math.inf}", "{'step': math.nan, 'of': 3}"])
def test_progress_that_is_no_number_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: str) -> None:
    monkeypatch.setenv("TUTTI_JOURNAL", str(tmp_path / "journal"))
    reply = Site(tmp_path, returning(f"logger({record}) or {{'weights': {{'w': torch.ones(3)}}, 'samples': 1}}")).train(W)
    assert (reply.get_return_code(), "progress" in (tmp_path / "journal").read_text()) == (ReturnCode.OK, False)


def test_an_exception_whose_message_raises_is_still_told(tmp_path: Path) -> None:
    code = "class Odd(Exception):\n    def __str__(self): raise KeyError('x')\n"
    code += "def fl_train_model(payload, out_dir, logger=None):\n    raise Odd\n"
    assert error(tmp_path, code)["sentence"].startswith("fl_train_model raised Odd")


def test_a_folder_that_cannot_be_made_is_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TUTTI_OUT_DIR", str(tmp_path / "file/out"))
    assert "NotADirectoryError" in error(tmp_path, returning("{}"))["sentence"]


REMEMBERING = """
import weakref, torch
KEPT = []
def fl_train_model(payload, out_dir, logger=None):
    model = torch.nn.Linear(2, 1)
    model.myself = [model]  # as a model and the hooks on it refer to each other
    KEPT.append(weakref.ref(model))
    gone = sum(one() is None for one in KEPT[:-1])
    if payload["env"]["CURRENT_ROUND"] == 1:
        raise RuntimeError("no")
    return {"weights": model.state_dict(), "samples": 1, "gone": gone}
"""


def test_nothing_of_a_round_is_held_in_the_next_also_after_a_failure(tmp_path: Path) -> None:
    site = Site(tmp_path, REMEMBERING)
    with importable(site.scripts):
        tasks = [request({}, round=number) for number in range(3)]
        answers = [site.executor.execute("train", task, context(site.engine), site.abort) for task in tasks]
    last = from_shareable(answers[2]).meta
    assert (answers[1].get_return_code(), last["tutti_metrics"]) == (ReturnCode.EXECUTION_EXCEPTION, {"gone": 2.0})

"""Where round 0 comes from, and what is left after each round."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_context import FLContext
from nvflare.app_common.abstract.model import ModelLearnable, ModelLearnableKey, make_model_learnable
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.app_event_type import AppEventType
from torch import nn

from chalicelib.job_scripts.custom_persistor import CustomPersistor
from tests.job_scripts.builders import Engine, context, importable

SPEC = {"path": "model_def.Net", "args": {"width": 3}}
NET = """
from torch import nn
class Net(nn.Module):
    def __init__(self, width=1, **kwargs):
        super().__init__()
        self.fc = nn.Linear(2, width)
"""


class Tied(nn.Module):
    """An embedding whose weights are the head's as well."""

    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(50, 20)
        self.head = nn.Linear(20, 50, bias=False)
        self.head.weight = self.emb.weight


class WithExtra(nn.Linear):
    """A layer with state that is no tensor."""

    def get_extra_state(self) -> dict[str, Any]:
        return {"format": "v1", "names": ["a"]}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        assert state["format"] == "v1"


class Server:
    """A persistor in its job's context."""

    def __init__(self, folder: Path, model: Any, **args: Any) -> None:
        self.folder = folder / "run-1"
        self.engine = Engine(folder)
        self.persistor = CustomPersistor(model, **args)
        self.fl_ctx: FLContext = context(self.engine, "server")

    def load(self) -> ModelLearnable:
        return self.persistor.load(self.fl_ctx)

    def save(self, weights: dict[str, Any], round: int = 0) -> dict[str, Any]:
        """The state dict in the file after saving."""
        self.fl_ctx.set_prop(AppConstants.CURRENT_ROUND, round, private=True)
        self.persistor.save(make_model_learnable(weights, {}), self.fl_ctx)
        state = torch.load(self.folder / "GLOBAL_MODEL.pt", weights_only=True)
        assert isinstance(state, dict)
        return state

    def panic(self) -> dict[str, Any]:
        """The cause in the last line of the panic."""
        reason = next(data for event, data in self.engine.fired if event == EventType.FATAL_SYSTEM_ERROR)
        cause = json.loads(reason.splitlines()[-1])
        assert isinstance(cause, dict)
        return cause


def weights_of(learnable: ModelLearnable) -> dict[str, Any]:
    found = learnable[ModelLearnableKey.WEIGHTS]
    assert isinstance(found, dict)
    return found


def checkpoint(folder: Path, content: Any) -> str:
    path = folder / "checkpoint.pt"
    torch.save(content, path)
    return str(path)


def test_a_spec_is_built_with_its_arguments(tmp_path: Path) -> None:
    (tmp_path / "model_def.py").write_text(NET)
    with importable(tmp_path):
        assert weights_of(Server(tmp_path, SPEC).load())["fc.weight"].shape == (3, 2)


def test_a_module_gives_its_own_weights(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    assert np.array_equal(weights_of(Server(tmp_path, model).load())["weight"], model.weight.detach().numpy())


def test_tensors_travel_when_asked_for(tmp_path: Path) -> None:
    value = weights_of(Server(tmp_path, nn.Linear(2, 2), exchange="tensors").load())["weight"]
    assert type(value) is torch.Tensor
    assert not value.requires_grad


def test_empty_weights_are_given_when_allowed(tmp_path: Path) -> None:
    assert Server(tmp_path, nn.Linear(2, 2), allow_empty_global_weights=True).load().is_empty()


@pytest.mark.parametrize("wrap", [
    lambda state: state,
    lambda state: {"state_dict": state, "epoch": 3},
    lambda state: {"model_state_dict": state},
    lambda state: {"model": {f"module.{name}": value for name, value in state.items()}},
    lambda state: {f"module._orig_mod.{name}": value for name, value in state.items()},
])  # fmt: skip
def test_a_checkpoint_is_loaded_through_wrappers_and_prefixes(tmp_path: Path, wrap: Any) -> None:
    state = {"weight": torch.full((2, 2), 4.0), "bias": torch.zeros(2)}
    server = Server(tmp_path, nn.Linear(2, 2), source_ckpt_file_full_name=checkpoint(tmp_path, wrap(state)))
    assert weights_of(server.load())["weight"].tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_a_checkpoint_with_other_names_says_how_many_match(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, {"weight": torch.zeros(2, 2), "b": torch.zeros(2)})
    server = Server(tmp_path, nn.Linear(2, 2), source_ckpt_file_full_name=path)
    server.load()
    assert "1 of 2 tensors match, 1 missing (bias), 1 unexpected (b)" in server.panic()["sentence"]


def test_a_checkpoint_of_another_shape_names_both(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, {"weight": torch.zeros(3, 2), "bias": torch.zeros(2)})
    server = Server(tmp_path, nn.Linear(2, 2), source_ckpt_file_full_name=path)
    server.load()
    assert "weight is (3, 2), the model's is (2, 2)" in server.panic()["sentence"]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_checkpoint_that_is_not_finite_is_refused_by_its_tensor(tmp_path: Path, bad: float) -> None:
    path = checkpoint(tmp_path, {"weight": torch.zeros(2, 2), "bias": torch.tensor([0.0, bad])})
    server = Server(tmp_path, nn.Linear(2, 2), source_ckpt_file_full_name=path)
    server.load()
    assert (server.panic()["code"], "bias has 1 of 2" in server.panic()["sentence"]) == ("checkpoint_failed", True)


def test_a_pickled_model_is_refused_with_the_way_to_save_it(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, nn.Linear(2, 2))
    server = Server(tmp_path, nn.Linear(2, 2), source_ckpt_file_full_name=path)
    server.load()
    sentence = server.panic()["sentence"]
    assert "torch.nn.modules.linear.Linear" in sentence
    assert "model.state_dict()" in sentence


def test_a_missing_checkpoint_is_named(tmp_path: Path) -> None:
    server = Server(tmp_path, nn.Linear(2, 2), source_ckpt_file_full_name=str(tmp_path / "none.pt"))
    server.load()
    assert (server.panic()["code"], "none.pt" in server.panic()["sentence"]) == ("checkpoint_failed", True)


@pytest.mark.parametrize(("text", "code"), [
    ("import no_such_package", "import_failed"),
    ("x = (", "import_failed"),
    ("x = 1", "name_missing"),
    ("def Net(width): raise RuntimeError('no')", "model_build_failed"),
    ("def Net(): ...", "model_build_failed"),
    ("def Net(width): return 3", "model_build_failed"),
])  # fmt: skip
def test_each_way_of_not_making_a_model_has_its_code(tmp_path: Path, text: str, code: str) -> None:
    (tmp_path / "model_def.py").write_text(text)
    server = Server(tmp_path, SPEC)
    with importable(tmp_path):
        server.load()
    assert server.panic()["code"] == code


def test_a_round_is_saved_under_its_number_and_as_the_global_model(tmp_path: Path) -> None:
    server = Server(tmp_path, nn.Linear(2, 2))
    server.save(weights_of(server.load()), round=4)
    files = {str(path.relative_to(server.folder)) for path in server.folder.rglob("*") if path.is_file()}
    assert files == {"rounds/round_4.pt", "GLOBAL_MODEL.pt"}


def test_the_next_round_leaves_the_earlier_file_as_it_was(tmp_path: Path) -> None:
    server = Server(tmp_path, nn.Linear(1, 1, bias=False))
    server.load()
    server.save({"weight": np.ones((1, 1), np.float32)}, round=0)
    server.save({"weight": np.zeros((1, 1), np.float32)}, round=1)
    assert torch.load(server.folder / "rounds/round_0.pt", weights_only=True)["weight"].item() == 1.0


def test_the_supervisors_folder_is_used_when_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTTI_MODEL_DIR", str(tmp_path / "models"))
    server = Server(tmp_path, nn.Linear(2, 2))
    server.folder = tmp_path / "models"
    assert server.save(weights_of(server.load())).keys() == {"weight", "bias"}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_a_float_dtype_comes_back(tmp_path: Path, dtype: torch.dtype) -> None:
    server = Server(tmp_path, nn.Linear(2, 2).to(dtype))
    assert server.save(weights_of(server.load()))["weight"].dtype == dtype


def test_a_counter_that_comes_back_as_a_float_is_whole_again(tmp_path: Path) -> None:
    server = Server(tmp_path, nn.BatchNorm1d(2))
    weights = weights_of(server.load()) | {"num_batches_tracked": np.array(6.0)}
    counter = server.save(weights)["num_batches_tracked"]
    assert (counter.dtype, counter.item()) == (torch.int64, 6)


def test_tied_weights_are_saved_once(tmp_path: Path) -> None:
    server = Server(tmp_path, Tied())
    server.save({name: value.copy() for name, value in weights_of(server.load()).items()})
    assert (server.folder / "GLOBAL_MODEL.pt").stat().st_size < 2 * 50 * 20 * 4


def test_a_model_with_extra_state_takes_the_saved_file_strictly(tmp_path: Path) -> None:
    server = Server(tmp_path, WithExtra(2, 2))
    state = server.save(weights_of(server.load()))
    assert str(WithExtra(2, 2).load_state_dict(state, strict=True)) == "<All keys matched successfully>"


def test_extra_state_travels_beside_the_weights(tmp_path: Path) -> None:
    meta = Server(tmp_path, WithExtra(2, 2)).load()[ModelLearnableKey.META]
    assert meta["tutti_extras"] == {"_extra_state": {"format": "v1", "names": ["a"]}}


def best_after(tmp_path: Path, mode: str, losses: list[float]) -> int:
    """The round whose model is the best one after rounds in which the sites measured these numbers."""
    server = Server(tmp_path, nn.Linear(1, 1, bias=False), best_metric="loss", best_mode=mode)
    server.load()
    for number, loss in enumerate(losses):
        server.save({"weight": np.full((1, 1), float(number), np.float32)}, round=number)
        server.fl_ctx.set_prop("tutti_validated", {"site-1": {"loss": loss}, "site-2": {"loss": None}}, private=True)
        server.persistor.handle_event("tutti_validated", server.fl_ctx)
    return int(torch.load(server.folder / "BEST_MODEL.pt", weights_only=True)["weight"].item())


def test_the_round_with_the_lowest_measured_loss_is_the_best(tmp_path: Path) -> None:
    assert best_after(tmp_path, "min", [0.9, 0.2, 0.5]) == 1


def test_the_round_with_the_highest_measure_is_the_best(tmp_path: Path) -> None:
    assert best_after(tmp_path, "max", [0.9, 0.2, 0.5]) == 0


def test_without_a_metric_no_best_model_is_kept(tmp_path: Path) -> None:
    server = Server(tmp_path, nn.Linear(2, 2))
    server.save(weights_of(server.load()))
    server.persistor.handle_event(AppEventType.ROUND_STARTED, server.fl_ctx)
    assert not (server.folder / "BEST_MODEL.pt").exists()

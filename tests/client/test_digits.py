"""The example workspace."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from examples.digits.evaluation import Jury, load_module, verdict
from examples.digits.make_shards import cut, make_shards

MODEL_DEF = Path(__file__).parents[2] / "examples" / "digits" / "scripts" / "model_def.py"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("digits")
    make_shards(folder)
    with zipfile.ZipFile(folder / "shards" / "shard_0.zip") as archive:
        archive.extractall(folder / "unpacked")
    return folder


def payload(made: Path, **env: Any) -> dict[str, Any]:
    torch.manual_seed(0)
    weights = load_module(MODEL_DEF).FLModelWrapper().get_weights()
    parameters = {"LOCAL_EPOCHS": 1, "BATCH_SIZE": 16, "LEARNING_RATE": 0.005, "CURRENT_ROUND": 0} | env
    return {"env": parameters, "initial_weights": weights, "dataset": {"data_root": str(made / "unpacked")}}


def test_one_epoch_makes_a_finite_update_of_the_same_names(made: Path) -> None:
    sent = payload(made)
    result = load_module(MODEL_DEF).fl_train_model(sent, "", lambda _: None)
    assert all(torch.isfinite(value).all() for value in result["weights"].values())
    assert list(result["weights"]) == list(sent["initial_weights"])


def test_every_epoch_is_told_with_its_loss(made: Path) -> None:
    told: list[dict[str, Any]] = []
    load_module(MODEL_DEF).fl_train_model(payload(made, LOCAL_EPOCHS=2), "", told.append)
    assert [(entry["epoch"], entry["of"], "loss" in entry) for entry in told] == [(1, 2, True), (2, 2, True)]


def test_training_twice_gives_the_same_bits(made: Path) -> None:
    first, second = (load_module(MODEL_DEF).fl_train_model(payload(made), "", lambda _: None)["weights"] for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_global_model_is_judged_under_names_of_its_own(made: Path) -> None:
    module = load_module(MODEL_DEF)
    trained = module.fl_train_model(payload(made), "", lambda _: None)
    judged = module.fl_validate_model(payload(made), "", lambda _: None)
    assert trained.keys() & judged.keys() == {"samples"}


def test_the_model_has_no_buffers_that_averaging_would_hurt() -> None:
    assert list(load_module(MODEL_DEF).FLModelWrapper().buffers()) == []


def test_shards_are_the_same_byte_for_byte(made: Path, tmp_path: Path) -> None:
    again, _ = make_shards(tmp_path)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in sorted((made / "shards").iterdir())]


def test_no_image_is_held_out_and_in_a_shard() -> None:
    (held, _), shards = cut()
    assert len(held) + sum(len(images) for images, _ in shards) == 1797


@pytest.mark.parametrize(("shard", "own"), [(0, range(4)), (1, range(4, 7)), (2, range(7, 10))])
def test_a_shard_holds_mostly_its_own_digits(shard: int, own: range) -> None:
    labels = cut()[1][shard][1]
    assert 0.8 < np.isin(labels, list(own)).mean() < 0.97


def test_a_lone_worker_is_judged_on_all_digits(made: Path, tmp_path: Path) -> None:
    jury = Jury(load_module(MODEL_DEF), made / "held_out.npz")
    parameters = {"local_epochs": 1, "batch_size": 16, "learning_rate": 0.005}
    assert jury.alone(made / "shards" / "shard_0.zip", tmp_path, rounds=1, parameters=parameters) < 0.9


def test_a_model_of_other_names_is_refused(made: Path) -> None:
    with pytest.raises(RuntimeError, match="Missing key"):
        Jury(load_module(MODEL_DEF), made / "held_out.npz").accuracy({})


@pytest.mark.parametrize(
    ("together", "alone", "right"), [(0.96, [0.8, 0.7], True), (0.92, [0.8], False), (0.95, [0.95, 0.1], False)]
)
def test_the_demo_succeeds_only_above_the_bound_and_above_everyone(together: float, alone: list[float], right: bool) -> None:
    assert (verdict(together, alone, least=0.93) is None) is right

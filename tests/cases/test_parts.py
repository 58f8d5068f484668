"""Parts of workspaces: labels that do not fit, a last batch of one, and equal starts."""

import hashlib
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from chalicelib.contracts.report import Finding
from chalicelib.domain.labels import count_labels
from tests.cases.case import Case
from tests.domain.builders import good_files
from tests.job_scripts.builders import SOURCES, Site
from tests.world import World


def findings(it: World, case: Case, classes: int) -> tuple[Finding, ...]:
    """What the report says of a workspace with the case's shards and this num_classes."""
    bucket, prefix = it.bucket(), "jobs/food/"
    for path, data in good_files(parameters={"num_classes": classes}).items():
        it.objects.put(bucket, prefix + path, data)
    for name in case.inputs:
        it.put(bucket, f"{prefix}shards/{name}", case.bytes(name))
    report, _ = it.app.reports.newest("sub-ada", "food")
    assert report is not None
    return report.findings


def test_a_label_that_no_class_has_is_warned_of_with_its_shard_and_value(it: World) -> None:
    case = Case("fl-label-out-of-range")
    [found] = findings(it, case, case.expect["num_classes"])
    assert (found.level, found.path, found.entry) == ("warning", "shards/shard_1.zip", "labels.npy")
    assert "label 3 (" in found.message


def test_with_classes_enough_nothing_is_said(it: World) -> None:
    assert findings(it, Case("fl-label-out-of-range"), 4) == ()


@pytest.mark.parametrize("dtype", ["<i8", ">i4", "|u1", "<i2"])
def test_labels_of_any_whole_number_type_are_counted(tmp_path: Path, dtype: str) -> None:
    np.save(tmp_path / "labels.npy", np.array([0, 1, 1, 3], dtype=dtype))
    found = count_labels("labels.npy", (tmp_path / "labels.npy").read_bytes())
    assert found is not None
    assert found.counts == {0: 1, 1: 2, 3: 1}


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("file,label\na.png,0\nb.png,3\n", {0: 1, 3: 1}),
        ("\ufeffClass\r\n2\r\n2\r\n", {2: 2}),
        ("1\n0\n", {0: 1, 1: 1}),
        ("file,label\na.png,cat\n", None),
        ("a,b\n1,2\n", None),
        ("", None),
    ],
)
def test_a_table_of_labels_is_counted_where_a_column_says_that_it_holds_them(text: str, counts: dict[int, int] | None) -> None:
    found = count_labels("train/labels.csv", text.encode())
    assert (found.counts if found else None) == counts


@pytest.mark.parametrize("array", [np.zeros((2, 3), int), np.zeros(3), np.array(["a"]), np.zeros(0, int)], ids=str)
def test_an_array_that_is_no_list_of_classes_is_left_alone(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "labels.npy", array)
    assert count_labels("labels.npy", (tmp_path / "labels.npy").read_bytes()) is None


def case_site(folder: Path, case: Case) -> Site:
    """One site with the case's model_def and shard."""
    site = Site(folder, case.text("model_def.py"))
    with zipfile.ZipFile(case.folder / "shard_0.zip") as shard:
        shard.extractall(folder / "data")
    return site


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_last_batch_of_one_is_reported_with_the_site_and_the_way_out(tmp_path: Path) -> None:
    site = case_site(tmp_path, Case("fl-last-batch-of-one"))
    cause = site.train({}).get_header("tutti_error")
    assert (cause["code"], cause["site"]) == ("training_raised", "site-1")
    assert "ValueError: Expected more than 1 value per channel" in cause["sentence"]
    assert "drop_last=True" in cause["sentence"]


PLAIN, NORMED = "nn.Linear(FEATURES, 32), nn.ReLU()", "nn.Linear(FEATURES, 32), nn.BatchNorm1d(32), nn.ReLU()"


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_template_leaves_out_such_a_batch(tmp_path: Path) -> None:
    starter = (SOURCES / "model_def_starter.py").read_text()
    assert PLAIN in starter
    site = Site(tmp_path, starter.replace(PLAIN, NORMED), batch_size=32)
    rows = 41  # a fifth of them validates, 33 train
    np.save(tmp_path / "data" / "features.npy", np.random.default_rng(1).normal(size=(rows, 16)).astype(np.float32))
    np.save(tmp_path / "data" / "labels.npy", np.arange(rows) % 3)
    answer = site.train({})
    assert (answer.get_header("tutti_error"), answer["DXO"]["meta"]["NUM_STEPS_CURRENT_ROUND"]) == (None, 33)


HASHING = """
import hashlib
def fl_train_model(payload, out_dir, logger=None):
    start = payload["initial_weights"]
    digest = hashlib.sha256(b"".join(start[name].numpy().tobytes() for name in sorted(start))).hexdigest()
    return {"weights": start, "samples": 1, "avg_loss": float(int(digest[:12], 16))}
"""


def test_every_worker_starts_round_0_from_the_very_same_weights(tmp_path: Path) -> None:
    case = Case("fl-start-equal")
    weights = {"a": torch.arange(6.0).reshape(2, 3).numpy(), "b": torch.ones(4).numpy()}
    answers = [Site(tmp_path / str(n), HASHING).train(dict(weights)) for n in range(3)]
    losses = {answer["DXO"]["meta"]["tutti_metrics"]["avg_loss"] for answer in answers}
    digest = hashlib.sha256(weights["a"].tobytes() + weights["b"].tobytes()).hexdigest()
    assert losses == {float(int(digest[:12], 16))}, json.dumps(case.expect["must"])

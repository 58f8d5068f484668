"""The starter runs before the user has written a line."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from chalicelib.job_scripts import model_def_starter as starter
from tests.job_scripts.builders import SOURCES


def payload(root: Path, weights: dict[str, Any], **env: Any) -> dict[str, Any]:
    values = {"DEVICE": "cpu", "SITE_NAME": "site-1", "NUM_CLASSES": 0, "EPOCHS": 3, "BATCH_SIZE": 16, "LR": 0.01}
    return {"env": {**values, **env}, "dataset": {"data_root": str(root)}, "initial_weights": weights}


def test_it_learns_without_any_data(tmp_path: Path) -> None:
    first = starter.FLModelWrapper().get_weights()
    before = starter.fl_validate_model(payload(tmp_path, first), str(tmp_path))["accuracy"]
    result = starter.fl_train_model(payload(tmp_path, first), str(tmp_path))
    assert starter.fl_validate_model(payload(tmp_path, result["weights"]), str(tmp_path))["accuracy"] > before


def test_it_trains_on_the_arrays_of_a_shard(tmp_path: Path) -> None:
    np.save(tmp_path / "features.npy", np.zeros((50, starter.FEATURES)))
    np.save(tmp_path / "labels.npy", np.zeros(50))
    weights = starter.FLModelWrapper().get_weights()
    assert starter.fl_train_model(payload(tmp_path, weights), str(tmp_path))["samples"] == 40


def test_it_runs_with_a_removed_hyperparameter(tmp_path: Path) -> None:
    call = payload(tmp_path, starter.FLModelWrapper().get_weights())
    del call["env"]["LR"]
    assert starter.fl_train_model(call, str(tmp_path))["samples"] == 192


def test_two_sites_make_up_different_data() -> None:
    assert not torch.equal(starter.synthetic_set("site-1")[0], starter.synthetic_set("site-2")[0])


def test_its_hyperparameters_are_one_literal_line() -> None:
    text = (SOURCES / "model_def_starter.py").read_text()
    assert len(re.findall(r"^HYPERPARAMETERS = \{.*\}$", text, re.MULTILINE)) == 1


@pytest.mark.process
def test_it_runs_by_itself(tmp_path: Path) -> None:
    command = [sys.executable, str(SOURCES / "model_def_starter.py")]
    said = subprocess.check_output(command, cwd=tmp_path, text=True, timeout=120)
    assert "192 samples" in said

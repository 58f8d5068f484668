"""The scripts serve a plain NVFLARE federation that knows nothing of this project."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from nvflare.apis.fl_constant import ReturnCode
from nvflare.app_common.abstract.model import ModelLearnableKey

from tests.job_scripts.builders import SOURCES, Engine, Site, context, importable, loaded

STOCK = "nvflare.app_common"
CLIENT: dict[str, Any] = {
    "format_version": 2,
    "executors": [
        {
            "tasks": ["train"],
            "executor": {
                "path": "custom_client_executor.GenericClientExecutor",
                "args": {"adapter_module": "model_def", "local_epochs": 1, "batch_size": 32, "learning_rate": 0.01},
            },
        }
    ],
    "components": [],
}
SERVER: dict[str, Any] = {
    "format_version": 2,
    "components": [
        {
            "id": "persistor",
            "path": "custom_persistor.CustomPersistor",
            "args": {"model": {"path": "model_def.FLModelWrapper", "args": {"pretrained": False}}},
        },
        {
            "id": "shareable_generator",
            "path": f"{STOCK}.shareablegenerators.full_model_shareable_generator.FullModelShareableGenerator",
        },
        {
            "id": "aggregator",
            "path": f"{STOCK}.aggregators.intime_accumulate_model_aggregator.InTimeAccumulateWeightedAggregator",
            "args": {"expected_data_kind": "WEIGHTS"},
        },
    ],
    "workflows": [
        {
            "id": "scatter_and_gather",
            "path": f"{STOCK}.workflows.scatter_and_gather.ScatterAndGather",
            "args": {"min_clients": 2, "num_rounds": 2, "persistor_id": "persistor"},
        }
    ],
}


def job(folder: Path) -> Path:
    """A job folder as one would write it by hand."""
    config, custom = folder / "app/config", folder / "app/custom"
    config.mkdir(parents=True)
    custom.mkdir()
    (config / "config_fed_client.json").write_text(json.dumps(CLIENT))
    (config / "config_fed_server.json").write_text(json.dumps(SERVER))
    meta = {"name": "plain", "min_clients": 2, "resource_spec": {}, "deploy_map": {"app": ["@ALL"]}}
    (folder / "meta.json").write_text(json.dumps(meta))
    for name in ("custom_client_executor.py", "custom_persistor.py"):
        shutil.copy(SOURCES / name, custom)
    shutil.copy(SOURCES / "model_def_starter.py", custom / "model_def.py")
    return folder


def test_a_checkpoint_named_without_a_folder_lies_beside_the_scripts(tmp_path: Path) -> None:
    shutil.copy(SOURCES / "custom_persistor.py", tmp_path)
    torch.save({"weight": torch.full((1, 2), 7.0), "bias": torch.zeros(1)}, tmp_path / "base.pt")
    persistor = loaded(tmp_path / "custom_persistor.py").CustomPersistor(torch.nn.Linear(2, 1), "base.pt")
    first = persistor.load_model(context(Engine(tmp_path / "run"), "server"))
    assert first[ModelLearnableKey.WEIGHTS]["weight"].tolist() == [[7.0, 7.0]]


def test_the_facts_of_a_round_have_a_lower_case_name_too(tmp_path: Path) -> None:
    body = """
def fl_train_model(payload, out_dir, logger):
    env = payload["env"]
    assert (env["site_name"], env["current_round"], env["num_rounds"]) == ("site-1", 2, 3)
    return {"weights": payload["initial_weights"], "samples": 1}
"""
    reply = Site(tmp_path, body).train({"w": np.zeros(1)}, round=2)
    assert reply.get_return_code() == ReturnCode.OK


@pytest.mark.process
def test_a_federation_made_by_hand_trains_with_the_scripts_as_they_are(tmp_path: Path) -> None:
    simulator = [sys.executable, "-m", "nvflare.private.fed.app.simulator.simulator"]
    command = [*simulator, str(job(tmp_path / "job")), "-w", str(tmp_path / "ws"), "-n", "2", "-t", "2"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TUTTI_", "PYTHONPATH"))}
    with (tmp_path / "log").open("w") as log:
        subprocess.run(command, env=environment, cwd=tmp_path, stdout=log, stderr=log, timeout=180, check=True)
    saved = next((tmp_path / "ws").rglob("rounds/round_1.pt"))
    with importable(tmp_path / "job/app/custom"):
        from model_def import FLModelWrapper  # type: ignore[import-not-found]

        loaded = FLModelWrapper().load_state_dict(torch.load(saved, weights_only=True), strict=True)
    assert str(loaded) == "<All keys matched successfully>"

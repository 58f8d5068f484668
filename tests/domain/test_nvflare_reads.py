"""NVFLARE itself accepts what is written into the bucket, and what is launched."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from chalicelib.domain.flare_config import launched_copy
from chalicelib.domain.workspaces import TEMPLATE, render
from chalicelib.job_scripts.sources import sources
from tests.domain.builders import form

ROOT = Path(__file__).parents[2]


def generated() -> dict[str, bytes]:
    """A workspace as the wizard writes it, its starter saved as model_def.py."""
    wish = form(heartbeat_timeout_s=77, parameters={"local_epochs": 1, "optimizer": {"name": "adam"}})
    files = {path: text.encode() for path, text in render(wish, sources()).items()}
    return files | {"scripts/model_def.py": files[f"scripts/{TEMPLATE}"]}


def nvflare_reads(files: Mapping[str, bytes], app: Path) -> dict[str, Any]:
    """What NVFLARE builds, in a process of its own, from an app folder with these files."""
    for path, data in files.items():
        target = app / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    program = str(ROOT / "tests/domain/nvflare_reads.py")
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'worker_image'}"}
    done = subprocess.run([sys.executable, program, str(app)], check=False, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.mark.process
def test_the_generated_files_are_plain_nvflare(tmp_path: Path) -> None:
    places = {"configs": "config", "scripts": "custom", "requirements": "requirements"}
    files = {f"{places[path.partition('/')[0]]}/{path.partition('/')[2]}": data for path, data in generated().items()}
    built = nvflare_reads(files, tmp_path)
    assert built == {
        "heartbeat": 77,
        "workflow": "ScatterAndGather",
        "components": {
            "persistor": "CustomPersistor",
            "shareable_generator": "FullModelShareableGenerator",
            "aggregator": "InTimeAccumulateWeightedAggregator",
            "scatter_and_gather": "ScatterAndGather",
        },
        "tasks": ["train", "validate", "submit_model"],
        "executor": "GenericClientExecutor",
    }


@pytest.mark.process
def test_the_launched_copy_is_built_with_the_platforms_classes(tmp_path: Path) -> None:
    copy = launched_copy(generated(), job_id="job-1", workers=3, checkpoint=False)
    app = {path.removeprefix("app/"): data for path, data in copy.items() if path.startswith("app/")}
    built = nvflare_reads(app, tmp_path)
    assert (built["workflow"], built["components"]["aggregator"], built["components"]["tutti_guard"]) == (
        "TuttiScatterAndGather",
        "OrderedAverage",
        "UpdateGuard",
    )

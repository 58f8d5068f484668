"""Workspaces made ready behind the page, for tests of what comes after them."""

from pathlib import Path

from tutti_fl import Client
from tutti_fl.shapes.jobs import Job

from tests.whole.builders import FOREVER, MODEL_DEF, folder
from tests.whole.conftest import job_run

BLOCKED = MODEL_DEF.replace("    env = payload", FOREVER + "    env = payload", 1)
"""A training that never comes back by itself."""


def filled(client: Client, root: Path, name: str, *, model_def: str = MODEL_DEF, shards: int = 1, rounds: int = 1) -> str:
    """A built, filled and checked workspace; its name."""
    report = job_run(client, folder(root / name, shards=shards, model_def=model_def), name, rounds=rounds).check()
    assert not report.errors
    return name


def launched(client: Client, root: Path, name: str, *, model_def: str = MODEL_DEF, shards: int = 1, rounds: int = 1) -> Job:
    """A job of such a workspace, on the processor."""
    filled(client, root, name, model_def=model_def, shards=shards, rounds=rounds)
    return client.launch(name, gpu_type="cpu")

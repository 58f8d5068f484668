"""The launched copy (job.zip): unpacked, and its canonical paths replaced by this worker's own."""

import json
from pathlib import Path
from typing import Any

from tutti_worker.archive import Limits, unpack

CANONICAL_DATA_ROOT = "/var/tmp/nvflare/data"  # noqa: S108 - a name in the launched copy, not a file
CANONICAL_OUT_DIR = "/var/tmp/nvflare/out"  # noqa: S108 - the same
CANONICAL_CHECKPOINT = "/var/tmp/nvflare/checkpoint/checkpoint.pt"  # noqa: S108 - the same

Json = Any
_LIMITS = Limits(total=1 << 30, entries=10_000)


def unpack_job(job_zip: Path, folder: Path) -> None:
    """Unpack the launched copy into ``folder``."""
    unpack(job_zip, folder, _LIMITS)


def requirements_text(folder: Path) -> str:
    """The workspace's requirements, empty when there are none."""
    for place in (folder / "requirements.txt", folder / "requirements" / "requirements.txt"):
        if place.is_file():
            return place.read_text(encoding="utf-8-sig")
    return ""


def localize_client_config(config: Path, data_root: Path, out: Path) -> None:
    """Replace the canonical folders in a client config by the unpacked shard and the outputs; without them it stays as it is."""
    _replace(config, CANONICAL_DATA_ROOT, str(data_root))
    _replace(config, CANONICAL_OUT_DIR, str(out))


def localize_server_config(config: Path, checkpoint: Path) -> None:
    """Replace the canonical checkpoint path in a server config by the downloaded file."""
    _replace(config, CANONICAL_CHECKPOINT, str(checkpoint))


def client_config(folder: Path) -> dict[str, Json]:
    """The launched client config."""
    return _read(folder / "app" / "config" / "config_fed_client.json")


def server_config(folder: Path) -> dict[str, Json]:
    """The launched server config."""
    return _read(folder / "app" / "config" / "config_fed_server.json")


def executor_of(config: dict[str, Json]) -> dict[str, Json]:
    """The first executor of a client config; empty when there is none."""
    for entry in config.get("executors", []):
        executor = entry.get("executor")
        if isinstance(executor, dict):
            return executor
    return {}


def model_of(config: dict[str, Json]) -> dict[str, Json]:
    """The model the server's persistor is given, as ``{"path": …, "args": …}``; empty when it is none such."""
    for component in config.get("components", []):
        model = component.get("args", {}).get("model") if isinstance(component, dict) else None
        if isinstance(model, dict) and "path" in model:
            return model
    return {}


def training_timeout(config: dict[str, Json]) -> float:
    """Seconds a round's training may take by the server config; 0 when nothing limits it."""
    for workflow in config.get("workflows", []):
        limit = workflow.get("args", {}).get("train_timeout") if isinstance(workflow, dict) else None
        if isinstance(limit, int | float):
            return float(limit)
    return 0.0


def _replace(path: Path, old: str, new: str) -> None:
    before = _read(path)
    after = _replaced(before, old, new)
    if after != before:
        path.write_text(json.dumps(after, indent=2))


def _replaced(value: Json, old: str, new: str) -> Json:
    if isinstance(value, dict):
        return {key: _replaced(part, old, new) for key, part in value.items()}
    if isinstance(value, list):
        return [_replaced(part, old, new) for part in value]
    return new if value == old else value


def _read(path: Path) -> dict[str, Json]:
    parsed = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(parsed, dict):
        raise ValueError(f"{path.name} is not a JSON object")
    return parsed

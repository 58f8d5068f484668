"""The global model as files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from tutti_worker.federation.tensors import as_tensor


def round_file(folder: Path, round: int) -> Path:
    """Where the model of a round is saved."""
    return folder / "rounds" / f"round_{round}.pt"


def keep_round(weights: Mapping[str, Any], meta: Mapping[str, Any], folder: Path, round: int) -> bool:
    """Save a round's model that the job's own persistor did not save; True when there was anything to do."""
    path = round_file(folder, round)
    if path.exists() or not weights:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(_state_dict(weights, meta), path)
    _write(_state_dict(weights, meta), folder / "GLOBAL_MODEL.pt")
    return True


def _state_dict(weights: Mapping[str, Any], meta: Mapping[str, Any]) -> dict[str, Any]:
    dtypes = meta.get("tutti_dtypes") or {}
    state: dict[str, Any] = {}
    for name, value in weights.items():
        tensor = as_tensor(value)
        if tensor is not None:
            state[name] = tensor.to(getattr(torch, dtypes[name])) if name in dtypes else tensor
    return state | dict(meta.get("tutti_extras") or {})


def _write(state: dict[str, Any], path: Path) -> None:
    part = path.with_suffix(".part")
    try:
        torch.save(state, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)

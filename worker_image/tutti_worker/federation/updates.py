"""Is this update fit to be averaged? Pure checks over names, shapes, dtypes, values and sample counts."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from chalicelib.contracts.job import Cause, ReasonCode

PREFIXES = ("module.", "_orig_mod.")


@dataclass(frozen=True)
class Spec:
    """Shape and dtype of one tensor of the global model."""

    shape: tuple[int, ...]
    dtype: torch.dtype


Signature = Mapping[str, Spec]


def as_tensor(value: object) -> torch.Tensor | None:
    """The value as a dense CPU tensor, sharing memory where it can; None when it is nothing of the kind."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu() if value.layout == torch.strided else None
    if isinstance(value, np.ndarray | np.generic | int | float):
        array = np.asarray(value)
        if array.dtype.kind in "biufc":
            return torch.from_numpy(array if array.flags.writeable else array.copy())
    return None


def signature(weights: Mapping[str, Any]) -> dict[str, Spec]:
    """What every update must look like. Entries that are no tensors are left out."""
    tensors = {name: as_tensor(value) for name, value in weights.items()}
    return {name: Spec(tuple(t.shape), t.dtype) for name, t in tensors.items() if t is not None}


def fit_names(reference: Signature | None, update: Mapping[str, Any]) -> Mapping[str, Any]:
    """The update without a prefix common to all its names, if its names then are the model's; else as it is."""
    named = update
    while reference and named and named.keys() != reference.keys():
        prefix = next((p for p in PREFIXES if all(name.startswith(p) for name in named)), None)
        if prefix is None:
            return update
        named = {name.removeprefix(prefix): value for name, value in named.items()}
    return named


def check_update(
    reference: Signature | None, update: Mapping[str, Any], *, site: str | None = None, round: int | None = None
) -> Cause | None:
    """Why the update must not be averaged, naming site and tensor; None when it fits.

    Without a reference (a job that starts from no weights) only the values are checked.
    """
    for fault in _faults(reference, update):
        return Cause(code=ReasonCode.UPDATE_REFUSED, sentence=f"{site or 'the update'}: {fault}", site=site, round=round)
    return None


def check_samples(samples: object) -> str | None:
    """Why a sample count is none; None when it is a whole number from 0, or absent."""
    if samples is None:
        return None
    whole = isinstance(samples, int | np.integer) and not isinstance(samples, bool)
    whole = whole or (isinstance(samples, float) and math.isfinite(samples) and samples == int(samples))
    if whole and float(samples) >= 0:  # type: ignore[arg-type]
        return None
    return f"samples is {samples!r}; a whole number from 0 is wanted"


def _faults(reference: Signature | None, update: Mapping[str, Any]) -> Iterator[str]:
    if not update:
        yield "the update holds no weights"
    if reference is not None:
        yield from _name_faults(reference, update)
    for name, value in update.items():
        tensor = as_tensor(value)
        if tensor is None:
            yield f"{name} is a {type(value).__name__}, which cannot be averaged"
            continue
        if tensor.is_complex():
            yield f"{name} is {_word(tensor.dtype)}; complex numbers cannot be averaged, only real ones"
        if reference is not None:
            yield from _form_faults(name, reference[name], tensor)
        yield from _value_faults(name, tensor)


def _name_faults(reference: Signature, update: Mapping[str, Any]) -> Iterator[str]:
    missing, unexpected = sorted(reference.keys() - update.keys()), sorted(update.keys() - reference.keys())
    parts = [
        f"{len(names)} {word} ({', '.join(names[:3])})"
        for word, names in (("missing", missing), ("unexpected", unexpected))
        if names
    ]
    if parts:
        yield f"its weights have other names than the global model: {', '.join(parts)}"


def _form_faults(name: str, wanted: Spec, tensor: torch.Tensor) -> Iterator[str]:
    shape = tuple(tensor.shape)
    if shape != wanted.shape:
        yield (
            f"{name} has shape {shape}, the global model's is {wanted.shape}; build the model from the config "
            "(num_classes), never from what a shard holds"
        )
    if not _can_become(tensor, wanted.dtype):
        yield f"{name} is {_word(tensor.dtype)}, the global model's is {_word(wanted.dtype)}"


def _value_faults(name: str, tensor: torch.Tensor) -> Iterator[str]:
    if not tensor.is_floating_point():
        return
    bad = tensor.numel() - int(torch.isfinite(tensor).sum())
    if bad:
        yield f"{name} has {bad} of {tensor.numel()} values that are not finite (NaN or infinity)"


def _can_become(tensor: torch.Tensor, dtype: torch.dtype) -> bool:
    # Another width of the same kind is only precision; a counter that came back as 3.0 is still a counter.
    if tensor.dtype == dtype:
        return True
    if tensor.is_floating_point() and not dtype.is_floating_point:
        return dtype != torch.bool and bool((tensor == tensor.round()).all())
    return dtype != torch.bool or tensor.dtype == torch.bool


def _word(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")

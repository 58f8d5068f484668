"""Is this update fit to be averaged? Pure checks over names, shapes, dtypes, values and sample counts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Self

import numpy as np
import torch

from chalicelib.contracts.job import SERVER, Cause, ReasonCode
from tutti_worker.federation.tensors import as_tensor, holds_whole, pieces

PREFIXES = ("module.", "_orig_mod.")
MOST_SAMPLES = 2**53
"""Beyond it neighbouring counts are one and the same weight."""


@dataclass(frozen=True)
class Spec:
    """What an update's tensor must be like: the global model's."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    saved: torch.dtype
    """The dtype in the model's file; half precision travels wider."""
    infinite: torch.Tensor | None = None
    """The first global model's values if some are infinite, as in a mask: the same may be infinite in an update."""

    @classmethod
    def of(cls, tensor: torch.Tensor, saved: torch.dtype | None = None) -> Self:
        """The form of this tensor."""
        infinite = tensor.is_floating_point() and any(bool(torch.isinf(_wide(piece)).any()) for piece in pieces(tensor))
        return cls(tuple(tensor.shape), tensor.dtype, saved or tensor.dtype, tensor.clone() if infinite else None)


Signature = Mapping[str, Spec]


def signature(weights: Mapping[str, Any], saved: Mapping[str, str] | None = None) -> dict[str, Spec]:
    """What every update must look like. Entries that are no tensors are left out.

    ``saved`` names the dtypes of those tensors that are saved in another one than they travel in.
    """
    tensors = {name: as_tensor(value) for name, value in weights.items()}
    narrow = {name: getattr(torch, dtype) for name, dtype in (saved or {}).items()}
    return {name: Spec.of(tensor, narrow.get(name)) for name, tensor in tensors.items() if tensor is not None}


def check_size(weights: Mapping[str, Any], limit: int | None) -> Cause | None:
    """Why this global model cannot be trained: its tensors are more bytes than the limit, if there is one."""
    size = sum(tensor.nbytes for value in weights.values() if (tensor := as_tensor(value)) is not None)
    if limit is None or size <= limit:
        return None
    sentence = f"the model's tensors are {_gib(size)} as they travel, the limit is {_gib(limit)}"
    return Cause(code=ReasonCode.MODEL_TOO_LARGE, sentence=sentence, site=SERVER)


def _gib(size: int) -> str:
    return f"{size / 2**30:.2f} GiB ({size} bytes)"


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
    """Why a sample count is none; None when it is a whole number from 0 to MOST_SAMPLES, or absent."""
    if samples is None:
        return None
    number = samples.item() if isinstance(samples, np.generic) else samples
    if isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= MOST_SAMPLES and number == int(number):
        return None
    return f"samples is {samples!r}; a whole number from 0 to 2**53 is wanted"


def _faults(reference: Signature | None, update: Mapping[str, Any]) -> Iterator[str]:
    if not update:
        yield "the update holds no weights"
    if reference is not None:
        yield from _name_faults(reference, update)
    for name, value in update.items():
        tensor = as_tensor(value)
        if tensor is None:
            yield f"{name} is {_kind(value)}, which cannot be averaged"
            continue
        wanted = reference[name] if reference is not None else Spec(tuple(tensor.shape), tensor.dtype, tensor.dtype)
        yield from _form_faults(name, wanted, tensor)
        yield from _value_faults(name, wanted, tensor)


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


def _value_faults(name: str, wanted: Spec, tensor: torch.Tensor) -> Iterator[str]:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return
    bad = _not_finite(tensor, wanted.infinite, tensor.dtype)
    if bad:
        yield f"{name} has {bad} of {tensor.numel()} values that are not finite (NaN or infinity)"
        return
    for dtype in {wanted.dtype, wanted.saved} - {tensor.dtype}:
        # What is finite here and infinite in the model would only show when the model is saved.
        bad = _not_finite(tensor, wanted.infinite, dtype)
        if bad:
            yield f"{name} has {bad} of {tensor.numel()} values that are too large for the model's {_word(dtype)}"


def _not_finite(tensor: torch.Tensor, infinite: torch.Tensor | None, dtype: torch.dtype) -> int:
    allowed = repeat(None) if infinite is None else pieces(infinite)
    return sum(int((~_fine(piece, own, dtype)).sum()) for piece, own in zip(pieces(tensor), allowed, strict=False))


def _fine(piece: torch.Tensor, allowed: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor:
    finite = torch.isfinite(_wide(piece.to(dtype)))
    return finite if allowed is None else finite | (torch.isinf(allowed) & (piece == allowed))


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    # The smallest floats know no isfinite.
    return tensor.float() if tensor.is_floating_point() and tensor.itemsize < 4 else tensor


def _can_become(tensor: torch.Tensor, dtype: torch.dtype) -> bool:
    # Another width of the same kind is only precision; a counter that came back as 3.0 is still a counter.
    if tensor.dtype == dtype or dtype.is_complex:
        return True
    if tensor.is_complex() or dtype == torch.bool:
        return False
    return dtype.is_floating_point or holds_whole(tensor, dtype)


def _kind(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"a {_word(value.layout)} tensor of {_word(value.dtype)} on {value.device.type}"
    return f"a {type(value).__name__}" + (f" of {value.dtype}" if isinstance(value, np.ndarray) else "")


def _word(name: torch.dtype | torch.layout) -> str:
    return str(name).removeprefix("torch.")

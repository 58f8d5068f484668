"""Values as tensors, and large tensors piece by piece."""

from collections.abc import Iterator

import numpy as np
import torch

PIECE = 1 << 20
"""Elements that are worked on at once, so that what is computed on the way stays small beside a large tensor."""


def as_tensor(value: object) -> torch.Tensor | None:
    """The value as a dense CPU tensor with values, sharing memory where it can; None when it is nothing of the kind.

    A tensor that NVFLARE left on the disk is mapped from its file.
    """
    if not isinstance(value, torch.Tensor) and callable(load := getattr(value, "materialize", None)):
        value = load()
    if isinstance(value, torch.Tensor):
        dense = value.layout == torch.strided and not (value.is_quantized or value.is_nested or value.is_meta)
        return value.detach().cpu().resolve_conj().resolve_neg() if dense else None
    if isinstance(value, np.ndarray | np.generic | int | float):
        return _from_array(np.asarray(value))
    return None


def _from_array(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> torch.Tensor | None:
    if array.dtype.kind not in "biufc" or array.dtype.type in (np.longdouble, np.clongdouble):
        return None
    if any(stride < 0 for stride in array.strides) or not (array.flags.writeable and array.dtype.isnative):
        array = array.astype(array.dtype.newbyteorder("="), order="C", copy=True)
    return torch.from_numpy(array)


def pieces(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """The elements in their order, PIECE at a time, each piece flat."""
    yield from torch.split(tensor.reshape(-1), PIECE)


def holds_whole(tensor: torch.Tensor, dtype: torch.dtype) -> bool:
    """True when the integer dtype can hold every value exactly."""
    bounds = torch.iinfo(dtype)
    return all(_is_whole(piece, bounds.min, bounds.max) for piece in pieces(tensor) if piece.numel())


def _is_whole(piece: torch.Tensor, least: int, most: int) -> bool:
    values = (piece.double() if piece.is_floating_point() else piece).numpy()
    # Python compares an integer with a float exactly; a cast of either could overflow.
    inside = least <= values.min().item() and values.max().item() <= most
    return bool(inside and (values.dtype.kind in "biu" or (values == np.rint(values)).all()))

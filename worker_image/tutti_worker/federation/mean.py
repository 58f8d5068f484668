"""The weighted mean of one tensor of several updates."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import torch

from tutti_worker.federation.tensors import pieces

Array = np.ndarray[Any, Any]
Pieces = Sequence[torch.Tensor]
_EXACT = 2**51
"""Below it float64 computes with whole numbers exactly."""


def ordered_mean(tensors: Sequence[torch.Tensor], weights: Sequence[float], dtype: torch.dtype) -> torch.Tensor:
    """The weighted mean in the given dtype, summed in float64 in the order given. Weight 0 counts for nothing.

    Whole numbers stay whole: a single one (a counter) becomes the largest, of several each becomes the exact mean rounded
    half to even. A truth value is true where more than half of the weight says so. Beside the result it needs memory
    for a piece of each tensor, not for a tensor. Raises ValueError when no weight is above 0.
    """
    counted = [(tensor, weight) for tensor, weight in zip(tensors, weights, strict=True) if weight > 0]
    if not counted:
        raise ValueError("no update has a weight above 0")
    parts, shares = [tensor for tensor, _ in counted], [weight for _, weight in counted]
    mean = _way(dtype, counter=parts[0].numel() == 1)
    result = torch.empty(parts[0].shape, dtype=dtype)
    flat, start = result.view(-1), 0
    for together in zip(*map(pieces, parts), strict=True):
        end = start + together[0].numel()
        flat[start:end] = mean(together, shares).to(dtype)
        start = end
    return result


def _way(dtype: torch.dtype, *, counter: bool) -> Callable[[Pieces, Sequence[float]], torch.Tensor]:
    if dtype.is_floating_point:
        return _mean
    if dtype.is_complex:
        return _complex_mean
    if dtype == torch.bool:
        return lambda together, shares: _mean(together, shares) > 0.5
    return partial(_largest if counter else _whole_mean, dtype)


def _mean(together: Pieces, shares: Sequence[float]) -> torch.Tensor:
    total = torch.zeros(together[0].shape, dtype=torch.float64)
    for piece, share in zip(together, shares, strict=True):
        total.add_(piece.to(torch.float64) * share)
    return total.div_(sum(shares))


def _complex_mean(together: Pieces, shares: Sequence[float]) -> torch.Tensor:
    return torch.view_as_complex(_mean([torch.view_as_real(piece.to(torch.complex128)) for piece in together], shares))


def _largest(dtype: torch.dtype, together: Pieces, shares: Sequence[float]) -> torch.Tensor:
    del shares
    return torch.from_numpy(np.maximum.reduce([_whole(piece, dtype) for piece in together]))


def _whole_mean(dtype: torch.dtype, together: Pieces, shares: Sequence[float]) -> torch.Tensor:
    values = [_whole(piece, dtype) for piece in together]
    if all(np.array_equal(value, values[0]) for value in values):
        return together[0] if together[0].dtype == dtype else torch.from_numpy(values[0])
    parts = [Fraction(share) for share in shares]
    scale = math.lcm(*(part.denominator for part in parts))
    weights = [int(part * scale) for part in parts]
    largest = max(max(abs(int(value.min())), abs(int(value.max()))) for value in values)
    # Python's integers are slow and know no bound.
    wide = np.float64 if (largest + 1) * sum(weights) < _EXACT else object
    total = np.add.reduce([value.astype(wide) * weight for value, weight in zip(values, weights, strict=True)])
    return torch.from_numpy(_divided(total, sum(weights)).astype(values[0].dtype))


def _divided(total: Array, weight: int) -> Array:
    quotient, rest = total // weight, total % weight
    up = (2 * rest > weight) | ((2 * rest == weight) & (quotient % 2 == 1))
    rounded: Array = quotient + up
    return rounded


def _whole(piece: torch.Tensor, dtype: torch.dtype) -> Array:
    whole: Array = (piece.double().round() if piece.is_floating_point() else piece).to(dtype).numpy()
    return whole

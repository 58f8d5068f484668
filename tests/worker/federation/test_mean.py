"""One tensor's mean, held to the last bit against arithmetic that takes no short cut."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from tutti_worker.federation import tensors
from tutti_worker.federation.mean import ordered_mean
from tutti_worker.federation.store import by_site

Array = np.ndarray[Any, Any]
FLOATS = (np.float16, np.float32, np.float64)
WHOLE = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
BOUNDED = {np.float16: 2.0**15, np.float32: 2.0**100, np.float64: 2.0**900}
counts = st.one_of(st.integers(1, 10), st.integers(1, 10**6), st.just(2**53))


def counters(*values: Any, dtype: torch.dtype = torch.int64) -> list[torch.Tensor]:
    return [torch.tensor(value, dtype=dtype) for value in values]


@st.composite
def updates(draw: st.DrawFn, kinds: tuple[Any, ...]) -> tuple[list[Array], list[int]]:
    """Arrays of one dtype and shape, and the sample counts that go with them."""
    kind = draw(st.sampled_from(kinds))
    shape = draw(npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    bound = BOUNDED.get(kind)
    elements = None if bound is None else npst.from_dtype(np.dtype(kind), min_value=-bound, max_value=bound, allow_nan=False)
    sites = draw(st.integers(1, 5))
    arrays = [draw(npst.arrays(kind, shape, elements=elements)) for _ in range(sites)]
    return arrays, [draw(counts) for _ in range(sites)]


def float_reference(values: list[Array], weights: list[int]) -> Array:
    """One Python float after the other, in the order given."""
    result = np.empty(values[0].shape, values[0].dtype)
    for place in np.ndindex(result.shape):
        total = 0.0
        for value, weight in zip(values, weights, strict=True):
            total += float(value[place]) * float(weight)
        result[place] = np.float64(total / float(sum(float(weight) for weight in weights))).astype(result.dtype)
    return result


def whole_reference(values: list[Array], weights: list[int]) -> Array:
    """Exact fractions; Python rounds a half to even."""
    result = np.empty(values[0].shape, values[0].dtype)
    for place in np.ndindex(result.shape):
        parts = [int(value[place]) for value in values]
        mean = sum(Fraction(part) * weight for part, weight in zip(parts, weights, strict=True)) / sum(weights)
        result[place] = max(parts) if result.size == 1 else round(mean)
    return result


def mean_of(values: list[Array], weights: list[int]) -> Array:
    stored = [torch.from_numpy(value.copy()) for value in values]
    return ordered_mean(stored, [float(weight) for weight in weights], stored[0].dtype).numpy()


@given(updates(FLOATS))
def test_floats_are_summed_in_float64_in_the_order_given(case: tuple[list[Array], list[int]]) -> None:
    mean = mean_of(*case)
    assert (mean.shape, mean.tobytes()) == (case[0][0].shape, float_reference(*case).tobytes())


@given(updates(WHOLE))
def test_whole_numbers_get_their_exact_mean(case: tuple[list[Array], list[int]]) -> None:
    mean = mean_of(*case)
    assert (mean.dtype, mean.tolist()) == (case[0][0].dtype, whole_reference(*case).tolist())


@given(updates((*FLOATS, *WHOLE)), st.randoms(use_true_random=False))
def test_sites_in_natural_order_give_the_same_bits_whoever_came_first(case: tuple[list[Array], list[int]], chance: Any) -> None:
    named = [(f"site-{n}", part) for n, part in enumerate(zip(*case, strict=True), start=8)]
    orders = []
    for _ in range(3):
        chance.shuffle(named)
        ordered = by_site(dict(named)).values()
        orders.append(mean_of([value for value, _ in ordered], [weight for _, weight in ordered]).tobytes())
    assert len(set(orders)) == 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.complex64, torch.complex128, torch.float8_e4m3fn])
def test_a_dtype_that_numpy_lacks_or_that_has_two_parts_comes_out_as_it_went_in(dtype: torch.dtype) -> None:
    values = [torch.tensor([1.0, 3.0]).to(dtype), torch.tensor([2.0, 4.0]).to(dtype)]
    mean = ordered_mean(values, [1, 1], dtype)
    assert (mean.dtype, mean.to(torch.complex64).tolist()) == (dtype, [1.5, 3.5])


def test_a_large_tensor_is_averaged_across_the_seams_of_its_pieces() -> None:
    size = 2 * tensors.PIECE + 1
    values = [torch.arange(size, dtype=torch.float64) * factor for factor in (1.0, 3.0)]
    assert torch.equal(ordered_mean(values, [1, 1], torch.float64), torch.arange(size, dtype=torch.float64) * 2)


def test_a_last_piece_of_one_element_is_no_counter() -> None:
    values = [torch.zeros(tensors.PIECE + 1, dtype=torch.int64), torch.full((tensors.PIECE + 1,), 2)]
    assert ordered_mean(values, [1, 1], torch.int64)[-1].item() == 1


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_counter_of_any_shape_becomes_the_largest(shape: tuple[int, ...]) -> None:
    mean = ordered_mean([torch.full(shape, 3), torch.full(shape, 7)], [90, 30], torch.int64)
    assert (tuple(mean.shape), mean.sum().item()) == (shape, 7)


def test_a_strided_tensor_is_averaged_by_place_and_not_by_memory() -> None:
    straight = torch.arange(6.0).reshape(2, 3)
    turned = torch.arange(6.0).reshape(3, 2).T
    assert torch.equal(ordered_mean([straight, turned], [1, 1], torch.float32), (straight + turned) / 2)


def test_a_counter_that_one_site_sent_as_a_float_stays_whole() -> None:
    mean = ordered_mean([torch.tensor(3.0), torch.tensor(7)], [1, 1], torch.int64)
    assert (mean.dtype, mean.item()) == (torch.int64, 7)


def test_a_fraction_of_a_weight_is_a_weight() -> None:
    assert ordered_mean(counters([0, 100], [10, 0]), [0.25, 0.75], torch.int64).tolist() == [8, 25]


def test_equal_infinities_of_a_mask_stay() -> None:
    mask = torch.tensor([0.0, -torch.inf])
    assert ordered_mean([mask, mask], [1, 2], torch.float32).tolist() == [0.0, -torch.inf]


@pytest.mark.parametrize("shape", [(), (2,)])
def test_a_truth_value_is_decided_by_the_weightier_side(shape: tuple[int, ...]) -> None:
    sides = [torch.ones(shape, dtype=torch.bool), torch.zeros(shape, dtype=torch.bool)]
    means = [ordered_mean(sides, weights, torch.bool).any().item() for weights in ([1, 3], [3, 1], [1, 1])]
    assert means == [False, True, False]


def test_no_weight_at_all_is_an_error() -> None:
    with pytest.raises(ValueError, match="weight above 0"):
        ordered_mean(counters(1), [0], torch.int64)


def test_every_order_of_four_sites_gives_one_mean_once_they_are_sorted() -> None:
    draw = np.random.default_rng(0)
    parts = {f"site-{n}": draw.normal(size=40).astype(np.float32) * np.float32(10.0**n) for n in range(4)}
    sums = {
        mean_of(list(by_site({site: parts[site] for site in order}).values()), [1, 2, 3, 4]).tobytes()
        for order in itertools.permutations(parts)
    }
    assert len(sums) == 1

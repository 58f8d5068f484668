"""Which updates may be averaged, and how a refusal names its reason."""

from typing import Any

import numpy as np
import pytest
import torch
from tutti_worker.federation.updates import check_samples, check_size, check_update, fit_names, signature

from tests.worker.federation.builders import Arrays, OnDisk, arrays

MODEL = {"fc.weight": np.zeros((2, 3), np.float32), "bn.steps": np.array(0), "mask": np.array([True])}
REFERENCE = signature(MODEL)


def refusal(**changes: Any) -> str:
    """Why MODEL with these changes is refused; empty when it is not."""
    cause = check_update(REFERENCE, MODEL | {name.replace("__", "."): value for name, value in changes.items()})
    return cause.sentence if cause else ""


def test_an_update_like_the_model_is_fit() -> None:
    assert refusal() == ""


def test_another_shape_is_named_with_both() -> None:
    assert "fc.weight has shape (3, 3), the global model's is (2, 3)" in refusal(fc__weight=np.zeros((3, 3), np.float32))


def test_a_refusal_names_its_site_and_round() -> None:
    cause = check_update(REFERENCE, arrays(other=[1]), site="site-2", round=4)
    assert cause is not None
    assert (cause.site, cause.round, cause.sentence[:7]) == ("site-2", 4, "site-2:")


def test_missing_and_unexpected_names_are_counted_and_named() -> None:
    cause = check_update(REFERENCE, {"fc.weight": MODEL["fc.weight"], "head": np.zeros(1)})
    assert cause is not None
    assert "2 missing (bn.steps, mask), 1 unexpected (head)" in cause.sentence


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_found(bad: float) -> None:
    weight = np.zeros((2, 3), np.float32)
    weight[1, 2] = bad
    assert "fc.weight has 1 of 6 values that are not finite" in refusal(fc__weight=weight)


@pytest.mark.parametrize("value", [np.zeros((2, 3), np.float64), torch.zeros(2, 3, dtype=torch.float16), np.zeros((2, 3), int)])
def test_another_width_of_a_float_is_fit(value: object) -> None:
    assert refusal(fc__weight=value) == ""


def test_a_counter_that_became_a_whole_float_is_fit() -> None:
    assert refusal(bn__steps=np.array(3.0)) == ""


def test_a_counter_that_became_a_fraction_is_not() -> None:
    assert refusal(bn__steps=np.array(3.5)) == "the update: bn.steps is float64, the global model's is int64"


@pytest.mark.parametrize("value", [np.array(["a"]), np.array([None]), "text", None, [1.0]])
def test_what_is_no_tensor_is_named(value: object) -> None:
    assert "mask is a" in refusal(mask=value)


def test_an_update_of_nothing_is_refused() -> None:
    cause = check_update(None, {})
    assert cause is not None


def test_without_first_weights_only_values_are_checked() -> None:
    assert check_update(None, arrays(anything=[1])) is None


@pytest.mark.parametrize("samples", [None, 0, 5, 32.0, np.int64(3), np.uint8(3), np.float32(32), 2**53])
def test_a_whole_count_is_a_count(samples: object) -> None:
    assert check_samples(samples) is None


@pytest.mark.parametrize(
    "samples", [-1, 1.5, True, np.bool_(True), float("nan"), float("inf"), "7", 2**53 + 1, 10**400, -0.5, [3], 1j]
)
def test_anything_else_is_no_count(samples: object) -> None:
    assert "a whole number from 0 to 2**53 is wanted" in str(check_samples(samples))


@pytest.mark.parametrize(("names", "fitted"), [
    (["module.fc.weight", "module.bn.steps", "module.mask"], ["fc.weight", "bn.steps", "mask"]),
    (["module._orig_mod.fc.weight", "module._orig_mod.bn.steps", "module._orig_mod.mask"], ["fc.weight", "bn.steps", "mask"]),
    (["module.fc.weight", "bn.steps", "mask"], ["module.fc.weight", "bn.steps", "mask"]),
    (["module.other"], ["module.other"]),
])  # fmt: skip
def test_a_prefix_goes_only_when_all_have_it_and_the_rest_fits(names: list[str], fitted: list[str]) -> None:
    update: Arrays = {name: np.zeros(1) for name in names}
    assert list(fit_names(REFERENCE, update)) == fitted


@pytest.mark.parametrize(("value", "word"), [
    (np.array([1j], np.complex64), "is complex64, the global model's is float32"),
    (torch.eye(1).to_sparse(), "is a sparse_coo tensor of float32 on cpu"),
    (torch.ones(1, device="meta"), "is a strided tensor of float32 on meta"),
    (np.ones(1, np.longdouble), "is a ndarray of float128"),
    (np.array([1e300]), "has 1 of 1 values that are too large for the model's float32"),
])  # fmt: skip
def test_what_cannot_become_the_models_tensor_is_refused_by_name(value: object, word: str) -> None:
    cause = check_update(signature(arrays(w=[0])), {"w": value})
    assert cause is not None
    assert f"w {word}" in cause.sentence


@pytest.mark.parametrize(("value", "fits"), [
    (np.array([-128, 127]), True),
    (np.array([0, 128]), False),
    (np.array([0.0, 1e300]), False),
    (np.array([3.0, -7.0]), True),
    (np.array([2**64 - 1, 0], np.uint64), False),
])  # fmt: skip
def test_a_whole_number_must_fit_the_models_type(value: object, fits: bool) -> None:
    cause = check_update(signature({"w": np.zeros(2, np.int8)}), {"w": value})
    assert (cause is None) == fits


def test_a_complex_value_that_is_not_finite_is_found() -> None:
    weights = {"spectrum": np.array([1, complex(0, np.inf)], np.complex64)}
    cause = check_update(signature({"spectrum": np.ones(2, np.complex64)}), weights)
    assert cause is not None
    assert "spectrum has 1 of 2 values that are not finite" in cause.sentence


def test_a_tensor_left_on_the_disk_is_checked_like_any_other() -> None:
    cause = check_update(signature(arrays(w=[0])), {"w": OnDisk(torch.tensor([torch.nan]))})
    assert cause is not None
    assert "w has 1 of 1 values that are not finite" in cause.sentence


@pytest.mark.parametrize(("limit", "said"), [
    (8, None), (None, None),
    (7, "the model's tensors are 0.00 GiB (8 bytes) as they travel, the limit is 0.00 GiB (7 bytes)"),
])  # fmt: skip
def test_a_model_above_the_limit_is_refused_with_both_sizes(limit: int | None, said: str | None) -> None:
    cause = check_size(arrays(w=[0, 0]), limit)
    assert (cause and (cause.code, cause.sentence)) == (said and ("model_too_large", said))

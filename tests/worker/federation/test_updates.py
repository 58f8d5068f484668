"""Which updates may be averaged, and how a refusal names its reason."""

from typing import Any

import numpy as np
import pytest
import torch
from tutti_worker.federation.updates import check_samples, check_update, fit_names, signature

from tests.worker.federation.builders import Arrays, arrays

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


@pytest.mark.parametrize("samples", [None, 0, 5, 32.0, np.int64(3)])
def test_a_whole_count_is_a_count(samples: object) -> None:
    assert check_samples(samples) is None


@pytest.mark.parametrize("samples", [-1, 1.5, True, float("nan"), "7"])
def test_anything_else_is_no_count(samples: object) -> None:
    assert "a whole number from 0 is wanted" in str(check_samples(samples))


@pytest.mark.parametrize(("names", "fitted"), [
    (["module.fc.weight", "module.bn.steps", "module.mask"], ["fc.weight", "bn.steps", "mask"]),
    (["module._orig_mod.fc.weight", "module._orig_mod.bn.steps", "module._orig_mod.mask"], ["fc.weight", "bn.steps", "mask"]),
    (["module.fc.weight", "bn.steps", "mask"], ["module.fc.weight", "bn.steps", "mask"]),
    (["module.other"], ["module.other"]),
])  # fmt: skip
def test_a_prefix_goes_only_when_all_have_it_and_the_rest_fits(names: list[str], fitted: list[str]) -> None:
    update: Arrays = {name: np.zeros(1) for name in names}
    assert list(fit_names(REFERENCE, update)) == fitted


def test_a_complex_tensor_is_refused_by_name() -> None:
    weights = {"spectrum": np.ones(2, np.complex64)}
    cause = check_update(signature(weights), weights)
    assert cause is not None
    assert "spectrum is complex64" in cause.sentence

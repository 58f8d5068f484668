"""Typed values and parameter names."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from chalicelib.contracts.wizard import Parameter
from chalicelib.domain.errors import BadValue, InvalidRequest
from chalicelib.domain.typing_rules import check_arguments, check_parameters, parse_value, write_json

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def typed(value: JsonValue) -> str:
    return f"[{write_json(value)}]"


@given(JSON)
def test_a_value_that_is_written_and_typed_again_is_the_same_to_the_type(value: JsonValue) -> None:
    assert repr(parse_value(typed(value))) == repr([value])


@given(st.integers())
def test_an_integer_of_any_size_stays_exact(value: int) -> None:
    assert parse_value(str(value)) == value


@given(FLOATS)
def test_a_float_stays_a_float(value: float) -> None:
    assert isinstance(parse_value(write_json(value)), float)


@given(st.text())
def test_nothing_typed_raises_anything_but_bad_value(text: str) -> None:
    with suppress(BadValue):
        write_json(parse_value(text))


def test_a_typed_list_that_is_not_json_says_line_and_column() -> None:
    with pytest.raises(BadValue) as caught:
        parse_value("[1,\n 2,]")
    assert (caught.value.line, caught.value.column) == (2, 3)


def parameters(*names: str) -> list[Parameter]:
    return [Parameter(name=name, value=1) for name in names]


BAD_NAMES = ["data_root", "Train_Fn", "JOB_ID", "device", "num_rounds", "my-lr", "2x", "class", "__init__", "a b", "self"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_cannot_be_used_is_refused_by_its_field(name: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        check_parameters(parameters("ok", name))
    assert list(caught.value.fields) == ["training.parameters.1.name"]


@pytest.mark.parametrize("names", [("lr", "LR"), ("lr", "lr")])
def test_two_names_that_meet_in_capitals_are_refused(names: tuple[str, str]) -> None:
    with pytest.raises(InvalidRequest):
        check_parameters(parameters(*names))


def test_aliases_and_guide_names_are_parameters_like_any_other() -> None:
    names = ("epochs", "lr", "num_classes", "img_size")
    assert list(check_parameters(parameters(*names))) == list(names)


def test_a_bad_typed_value_is_reported_at_its_field() -> None:
    with pytest.raises(InvalidRequest) as caught:
        check_parameters([Parameter(name="layers", typed="[1,")])
    assert list(caught.value.fields) == ["training.parameters.0.typed"]


def test_typed_and_json_values_keep_their_types_and_order() -> None:
    given_ = [Parameter(name="b", typed="3.0"), Parameter(name="a", value="3.0"), Parameter(name="c", value=None)]
    assert repr(check_parameters(given_)) == "{'b': 3.0, 'a': '3.0', 'c': None}"


def test_a_model_may_take_arguments_that_the_platform_keeps_for_itself() -> None:
    assert check_arguments(parameters("device", "dataset")) == {"device": 1, "dataset": 1}

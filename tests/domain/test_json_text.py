"""Reading configs."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.errors import BadJson
from chalicelib.domain.json_text import read_json
from tests.domain.test_typing_rules import JSON


@given(JSON)
def test_json_reads_as_itself(value: object) -> None:
    assert repr(read_json(json.dumps(value)).value) == repr(value)


@given(st.dictionaries(st.text(), st.text(), max_size=3))
def test_comments_between_strings_do_not_touch_them(value: dict[str, str]) -> None:
    text = json.dumps(value, indent=1).replace("\n", ' // a "comment" /* \n /* b // */')
    assert read_json(text).value == value


@given(st.text())
def test_no_text_raises_anything_but_bad_json(text: str) -> None:
    with suppress(BadJson):
        read_json(text)


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_but_bad_json(data: bytes) -> None:
    with suppress(BadJson):
        read_json(data, path="configs/meta.json")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_says_the_encoding(encoding: str) -> None:
    assert read_json('{"a": "é"}'.encode(encoding)).value == {"a": "é"}


WRONG = [
    ('{"a": 1,\n}', "a comma before }", 1, 8),
    ("[1, // one\n 2, ]", "a comma before ]", 2, 3),
    ('{"a": {"b": [1, NaN]}}', "a.b.1 is NaN", 1, 17),
    ('{"a": -Infinity}', "a is -Infinity", 1, 7),
    ('{"a": 1e999}', "a is 1e999, which is out of range", 1, 7),
    ('{"a": 1,\n "b": {"c": 1, "c": 2}}', "the key b.c is given twice", 2, 21),
    ('{"a": 1 "b": 2}', "expecting ',' delimiter", 1, 9),
    ("{} /* open", "a comment that begins with /* never ends", 1, 4),
    ("", "expecting value", 1, 1),
]


@pytest.mark.parametrize(("text", "problem", "line", "column"), WRONG)
def test_a_mistake_is_named_with_line_and_column(text: str, problem: str, line: int, column: int) -> None:
    with pytest.raises(BadJson) as caught:
        read_json(text, path="x.json")
    assert problem in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(BadJson, match="nested too deeply"):
        read_json("[" * 100_000)


def test_a_place_is_found_by_keys_past_comments() -> None:
    text = read_json('{"a": 1, // x: [\n "b": [0,\n  {"c": 5}]}')
    assert text.place("b", 1, "c") == (3, 9)


def test_an_absent_place_is_answered_with_the_nearest_above_it() -> None:
    assert read_json('{"a":\n {"b": 1}}').place("a", "z", "y") == (2, 2)

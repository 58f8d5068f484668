"""Names: what holds for any keystrokes."""

import re

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.naming import clean_name, free_name


@given(st.text())
def test_a_clean_name_has_only_legal_characters(typed: str) -> None:
    name = clean_name(typed)
    assert name is None or re.fullmatch(r"(?=.*[a-z0-9])[a-z0-9_-]{1,63}", name)


@given(st.text())
def test_cleaning_a_clean_name_changes_nothing(typed: str) -> None:
    name = clean_name(typed)
    assert name is None or clean_name(name) == name


@given(st.from_regex(r"[a-z0-9_-]{1,62}[a-z0-9]", fullmatch=True), st.integers(0, 12))
def test_a_free_name_is_not_taken_and_is_clean(name: str, used: int) -> None:
    taken = {name, *(f"{name[: 63 - len(f'-{n}')]}-{n}" for n in range(2, 2 + used))}
    free = free_name(name, taken)
    assert free not in taken
    assert clean_name(free) == free


def test_a_name_that_nobody_has_is_kept() -> None:
    assert free_name("a", {"b"}) == "a"


def test_the_second_of_a_name_gets_a_two() -> None:
    assert free_name("a", {"a"}) == "a-2"

"""No case lies about untested: each is named by the tests that hold it."""

import re
from pathlib import Path

import pytest

from tests.cases.case import CASES_FOLDER

TESTS = Path(__file__).parents[1]


def sources() -> str:
    """Every test of the project but this one, and the tests' own builders."""
    files = (file for file in TESTS.rglob("*.py") if file != Path(__file__))
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


@pytest.fixture(scope="module")
def named() -> frozenset[str]:
    """Every word that could be a case's id."""
    return frozenset(re.findall(r"(?<![\w-])[a-z0-9]+(?:-[a-z0-9]+)+(?![\w-])", sources()))


@pytest.mark.parametrize("case", sorted(folder.name for folder in CASES_FOLDER.iterdir() if folder.is_dir()))
def test_a_test_names_this_case(case: str, named: frozenset[str]) -> None:
    assert case in named, f"no test claims {case}; name it in the test that holds what its expectation.json says"

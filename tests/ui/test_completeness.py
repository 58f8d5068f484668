"""Every behaviour the console promises has a test of its name."""

import re
from pathlib import Path

HERE = Path(__file__).parent
PROMISED = {"a": 16, "s": 7, "n": 5, "t": 7, "f": 5, "m": 3, "v": 8, "l": 11, "b": 7, "p": 4, "r": 14}
"""Letter of a page → how many behaviours it has, numbered from 1."""
ALSO = {"g11", "g13", "g14", "k1", "k2", "k4"}
"""Of pages that are built in part."""
UNTESTED = {"a16", "l5"}
"""Printing a job's page; the browser's own question when a page with running uploads is closed."""


def test_every_promised_behaviour_has_a_test() -> None:
    wanted = {f"{letter}{number}" for letter, count in PROMISED.items() for number in range(1, count + 1)} | ALSO
    named = {match for path in HERE.glob("test_*.py") for match in re.findall(r"def test_([a-z]\d+)_", path.read_text())}
    assert wanted - named == UNTESTED

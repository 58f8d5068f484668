"""Which node builds the console."""

import stat
from pathlib import Path

import pytest

from local_stack.console_build import OLDEST_NODE, version_of


def program(folder: Path, text: str) -> str:
    """A program that prints this."""
    path = folder / "node"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize(
    ("said", "new_enough"), [("v20.19.0", True), ("v20.18.3", False), ("v22.1.0", True), ("v18.20.8", False), ("v9.11.2", False)]
)
def test_versions_are_compared_as_numbers(tmp_path: Path, said: str, new_enough: bool) -> None:
    assert (version_of(program(tmp_path, f"echo {said}")) >= OLDEST_NODE) is new_enough


@pytest.mark.parametrize("text", ["exit 3", "echo nothing", "kill -9 $$"])
def test_a_node_that_gives_no_version_is_too_old(tmp_path: Path, text: str) -> None:
    assert version_of(program(tmp_path, text)) < OLDEST_NODE


def test_a_node_that_is_not_there_is_too_old(tmp_path: Path) -> None:
    assert version_of(str(tmp_path / "node")) < OLDEST_NODE

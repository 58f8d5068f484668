"""``python -m local_stack`` as a person meets it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.whole.conftest import ROOT, started

pytestmark = pytest.mark.process


def said(*words: str | Path, answer: str = "") -> subprocess.CompletedProcess[str]:
    """What a command printed, and how it ended."""
    command = [sys.executable, "-m", "local_stack", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, input=answer, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture(name="data", scope="module")
def running_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder of a stack that runs."""
    folder = tmp_path_factory.mktemp("commands")
    with started(folder, folder / "data"):
        yield folder / "data"


@contextmanager
def stopped(folder: Path) -> Iterator[Path]:
    """The data folder of a stack that has been stopped."""
    with started(folder, folder / "data"):
        pass
    yield folder / "data"


def test_status_says_where_the_stack_is(data: Path) -> None:
    assert json.loads((data / "running.json").read_text())["url"] in said("status", "--data", data).stdout


def test_status_of_nothing_says_how_to_start_one(tmp_path: Path) -> None:
    told = said("status", "--data", tmp_path / "none")
    assert (told.returncode, "make up" in told.stdout) == (3, True)


def test_a_second_stack_on_the_same_data_is_refused_by_name(data: Path) -> None:
    told = said("up", "--data", data)
    assert (told.returncode, "runs on" in told.stderr) == (1, True)


def test_a_code_for_another_user_is_one_line(data: Path) -> None:
    assert len(said("code", "--data", data, "--name", "bob").stdout.split()) == 1


def test_a_code_needs_a_running_stack(tmp_path: Path) -> None:
    told = said("code", "--data", tmp_path / "none")
    assert (told.returncode, "make up" in told.stderr) == (1, True)


def test_down_of_nothing_is_no_error(tmp_path: Path) -> None:
    assert said("down", "--data", tmp_path / "none").returncode == 0


def test_reset_leaves_a_folder_alone_that_is_no_stacks_data(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    told = said("reset", "--data", tmp_path, "--yes")
    assert (told.returncode, (tmp_path / "thesis.txt").exists()) == (1, True)


def test_reset_asks_first(tmp_path: Path) -> None:
    with stopped(tmp_path / "s") as data:
        assert (said("reset", "--data", data, answer="n\n").returncode, data.exists()) == (1, True)


def test_a_stack_keeps_its_ports_and_users_over_a_restart(tmp_path: Path) -> None:
    with started(tmp_path / "one", tmp_path / "data") as (_, first):
        pass
    with started(tmp_path / "two", tmp_path / "data") as (_, second):
        assert first == second


def test_down_stops_a_running_stack_and_reset_deletes_its_data(tmp_path: Path) -> None:
    with started(tmp_path / "s", tmp_path / "data") as (process, _):
        assert said("down", "--data", tmp_path / "data").returncode == 0
        assert process.wait(30) == 0
    assert said("reset", "--data", tmp_path / "data", "--yes").returncode == 0
    assert not (tmp_path / "data").exists()

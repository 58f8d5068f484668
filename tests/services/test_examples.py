"""Every example is a workspace without a word of complaint, made of the same bytes each time."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest
from tutti_fl.folder import read_folder

from chalicelib.contracts.report import Level
from chalicelib.domain.workspaces import render
from chalicelib.job_scripts.sources import sources
from chalicelib.services.validation import check
from tests.domain.builders import PREFIX, form
from tests.fakes import MemoryClock, MemoryObjectStore, MemoryReportStore
from tests.services.builders import BUCKET

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/make_shards.py"))
MOST_BYTES = 400_000


@pytest.fixture(scope="module", params=NAMES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """An example's name, and a folder with its shards and what else its script makes."""
    folder = tmp_path_factory.mktemp(request.param)
    script(request.param).make_shards(folder)
    return request.param, folder


def script(name: str) -> ModuleType:
    """The example's make_shards.py."""
    return importlib.import_module(f"examples.{name}.make_shards")


def inputs(name: str, made: Path) -> dict[str, bytes]:
    """What ``tutti run`` would upload, on top of what the wizard generates."""
    generated = {path: text.encode() for path, text in render(form(), sources()).items()}
    own = read_folder(EXAMPLES / name).files | read_folder(made).files
    return generated | {path: file.read_bytes() for path, file in own.items()}


def test_the_check_has_nothing_to_say(made: tuple[str, Path]) -> None:
    objects = MemoryObjectStore()
    objects.create_bucket(BUCKET, origins=())
    for path, data in inputs(*made).items():
        objects.put(BUCKET, PREFIX + path, data)
    report = check("me", "demo", bucket=BUCKET, objects=objects, reports=MemoryReportStore(), clock=MemoryClock())
    assert [finding for finding in report.findings if finding.level is not Level.NOTE] == []
    assert report.workers == 3


def test_the_data_are_the_same_byte_for_byte(made: tuple[str, Path], tmp_path: Path) -> None:
    name, folder = made
    script(name).make_shards(tmp_path)
    assert contents(tmp_path) == contents(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_data_are_small(made: tuple[str, Path]) -> None:
    assert sum(map(len, contents(made[1]).values())) < MOST_BYTES


def test_the_readme_says_how_to_run_it(made: tuple[str, Path]) -> None:
    readme = (EXAMPLES / made[0] / "README.md").read_text()
    assert f"python examples/{made[0]}/make_shards.py" in readme
    assert f"tutti run examples/{made[0]} " in readme

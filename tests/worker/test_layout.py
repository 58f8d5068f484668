"""Where a worker's temporary files go."""

import socket
from pathlib import Path

import pytest
from tutti_worker.layout import short_path


@pytest.fixture(name="work")
def deep_work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A worker's folder with a long path, and the worker in it."""
    work = tmp_path / ("x" * 100)
    (work / "tmp").mkdir(parents=True)
    monkeypatch.chdir(work)
    return work


def test_a_deep_folder_has_room_for_the_sockets_of_multiprocessing(work: Path) -> None:
    sockets = Path(short_path(work / "tmp")) / "pymp-12345678"
    sockets.mkdir()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(sockets / "listener-12345678"))
    assert (work / "tmp" / "pymp-12345678" / "listener-12345678").exists()


def test_a_folder_elsewhere_keeps_its_path(work: Path, tmp_path: Path) -> None:
    assert short_path(tmp_path / ("y" * 100)) == str(tmp_path / ("y" * 100))

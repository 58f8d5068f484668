"""Full disks: the end or the refusal names the disk, nothing is broken afterwards, and work goes on once there is room."""

import os
import sqlite3
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tutti_fl import Client
from tutti_fl.errors import TuttiError
from tutti_fl.shapes.jobs import Job

from tests.whole.builders import MODEL_DEF, folder, spoiled
from tests.whole.conftest import LiveStack, run, started
from tests.whole.small_disk import MIB, filled, small_disk

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

HOARDS = '    with open(os.path.join(out_dir, "hoard"), "wb") as hoard:\n        hoard.write(bytes(400 << 20))\n'
ROOM_WITHIN_S = 180
"""The object store looks once a minute whether there is room again."""


@pytest.fixture(name="tight", scope="module")
def stack_with_a_small_work_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Path]]:
    """A user of a stack whose workers share a disk of 400 MB, and that disk."""
    home = tmp_path_factory.mktemp("tight")
    work = home / "data" / "work"
    with small_disk(work, 400), started(home, home / "data") as (_, url), ada_of(url, home / "data") as ada:
        yield ada, work


def ada_of(url: str, data: Path) -> Client:
    """Ada, signed in."""
    return Client(url, LiveStack(url, data).token("ada"))


def ended(client: Client, root: Path, name: str) -> Job:
    """The job of a run, which may have failed."""
    job = run(client, root, name, rounds=1).job
    assert job is not None
    return job


def with_shard(root: Path, name: str, size: int, *, packed: bool) -> Path:
    """A folder with one shard of so many bytes, packed to next to nothing or not at all."""
    made = folder(root, shards=1)
    method = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    with zipfile.ZipFile(made / "shards" / "shard_0.zip", "a", method) as archive:
        archive.writestr(name, bytes(size) if packed else os.urandom(size))
    return made


def is_disk_full(job: Job, site: str, work: Path) -> bool:
    """FAILED for want of disk, with the worker and the disk named."""
    reason = job.reason
    assert reason is not None
    return (job.state, reason.code, reason.site) == ("FAILED", "disk_full", site) and str(work) in reason.sentence


def test_a_disk_that_fills_while_a_shard_is_fetched(tight: tuple[Client, Path], tmp_path: Path) -> None:
    ada, work = tight
    root = with_shard(tmp_path / "f", "noise", 40 * MIB, packed=False)
    with filled(work, left=20 * MIB):
        job = ended(ada, root, "fetched")
    assert is_disk_full(job, "site-1", work), job.reason


def test_a_shard_that_has_no_room_when_unpacked(tight: tuple[Client, Path], tmp_path: Path) -> None:
    ada, work = tight
    job = ended(ada, with_shard(tmp_path / "f", "zeros", 390 * MIB, packed=True), "unpacked")
    assert is_disk_full(job, "site-1", work), job.reason


def test_a_training_function_that_fills_the_disk(tight: tuple[Client, Path], tmp_path: Path) -> None:
    ada, work = tight
    source = spoiled('    env = payload["env"]\n', '    env = payload["env"]\n' + HOARDS)
    job = ended(ada, folder(tmp_path / "f", shards=1, model_def=source), "hoards")
    assert is_disk_full(job, "site-1", work), job.reason


def test_with_room_again_the_next_job_finishes(tight: tuple[Client, Path], tmp_path: Path) -> None:
    ada, work = tight
    with filled(work, left=MIB):
        pass
    assert ended(ada, folder(tmp_path / "f", shards=1, model_def=MODEL_DEF), "roomy").state == "FINISHED"


def test_a_full_disk_under_the_whole_stack(tmp_path: Path) -> None:
    disk, data = tmp_path / "disk", tmp_path / "disk" / "data"
    with small_disk(disk, 500):
        with started(tmp_path / "first", data) as (process, url), ada_of(url, data) as ada:
            ada.account.create_bucket()
            with filled(disk, left=0):
                assert refusals(ada) == []
                assert ada.account.me().name == "ada"
                assert process.poll() is None
            until_there_is_room(ada)
            assert ended(ada, folder(tmp_path / "f1", shards=1), "after").state == "FINISHED"
        assert [sound(file) for file in data.glob("*.db")] == ["ok", "ok"]
        with started(tmp_path / "second", data) as (_, again), ada_of(again, data) as ada:
            assert ended(ada, folder(tmp_path / "f2", shards=1), "restarted").state == "FINISHED"


def refusals(ada: Client) -> list[str]:
    """What was stored, or refused without a word of the disk, though there is no room at all."""
    wrong = []
    for what in (lambda: [ada.account.make_key("x" * 40) for _ in range(2000)], lambda: ada.workspaces.create("full")):
        try:
            what()
            wrong.append("stored")
        except TuttiError as error:
            wrong += [] if "disk that holds" in str(error) and "Free space" in error.hint else [f"{error} {error.hint}"]
    return wrong


def until_there_is_room(ada: Client) -> None:
    """Return once a workspace can be written."""
    until = time.monotonic() + ROOM_WITHIN_S
    number = 0
    while True:
        number += 1
        try:
            ada.workspaces.create(f"room-{number}")
            return
        except TuttiError:
            assert time.monotonic() < until
            time.sleep(2)


def sound(file: Path) -> str:
    """What SQLite says of a file."""
    connection = sqlite3.connect(file)
    try:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        connection.close()

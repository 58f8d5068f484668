"""After a job has ended, however it did, nothing temporary of it is left; after the stack, nothing of the stack."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tutti_fl import Client

from tests.whole.builders import FOREVER, MODEL_DEF, folder, spoiled
from tests.whole.conftest import LiveStack, job_run, started

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TIDY_WITHIN_S = 60
TRAIN = '    env = payload["env"]\n'
LITTERS = TRAIN + "    import tempfile\n    tempfile.mkdtemp(); tempfile.mkstemp()\n"
"""Leaves things of its own in the place for temporary files."""


@dataclass(frozen=True)
class Place:
    """A stack that has a place for temporary files of its own, and one of its users."""

    stack: LiveStack
    ada: Client
    temporary: Path


@pytest.fixture(name="place", scope="module")
def stack_with_its_own_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A running stack whose TMPDIR nobody else uses."""
    home = tmp_path_factory.mktemp("tidy")
    temporary = Path(tempfile.mkdtemp(prefix="tidy-"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        with started(home, home / "data") as (_, url):
            stack = LiveStack(url, home / "data")
            with Client(url, stack.token("ada")) as ada:
                yield Place(stack, ada, temporary)
    left = sorted(path.name for path in temporary.iterdir())
    sockets = [path for path in (home / "data").rglob("*") if path.is_socket()]
    shutil.rmtree(temporary)
    assert (left, sockets) == ([], []), "the stack has left something behind"


def finishes(place: Place, job_id: str) -> None:
    """Let it be."""


def is_cancelled(place: Place, job_id: str) -> None:
    """Cancelled by its user in the middle of training."""
    wait_until_training(place.ada, job_id)
    place.ada.cancel(job_id)


def is_killed(place: Place, job_id: str) -> None:
    """Every process of it killed at once, shims and all."""
    wait_until_training(place.ada, job_id)
    for process in place.stack.workers_of(job_id):
        os.kill(process.pid, signal.SIGKILL)


def wait_until_training(client: Client, job_id: str) -> None:
    """Return once a worker trains."""
    for live in client.follow(job_id):
        if any(worker.phase == "training" for worker in live.workers):
            return
    raise AssertionError("the job ended before anybody trained")


GOOD = MODEL_DEF.replace(TRAIN, LITTERS)
RAISES = spoiled(TRAIN, LITTERS + '    raise ValueError("no")\n')
HANGS = spoiled(TRAIN, LITTERS + FOREVER)


@pytest.mark.parametrize(
    ("source", "meanwhile", "state"),
    [
        (GOOD, finishes, "FINISHED"),
        (RAISES, finishes, "FAILED"),
        (HANGS, is_cancelled, "CANCELLED"),
        (HANGS, is_killed, "FAILED"),
    ],
    ids=["finished", "failed", "cancelled", "killed"],
)
def test_nothing_temporary_outlives_a_job(
    place: Place, tmp_path: Path, source: str, meanwhile: Callable[[Place, str], None], state: str
) -> None:
    begun = job_run(place.ada, folder(tmp_path / "f", shards=1, model_def=source), f"tidy-{meanwhile.__name__}-{state}", rounds=1)
    begun.check()
    job_id = begun.launch().id
    meanwhile(place, job_id)
    for _ in place.ada.follow(job_id):
        pass
    assert place.ada.jobs.get(job_id).state == state
    until = time.monotonic() + TIDY_WITHIN_S
    while (left := leftovers(place, job_id)) and time.monotonic() < until:
        time.sleep(0.5)
    assert left == []


def leftovers(place: Place, job_id: str) -> list[str]:
    """Processes, scratch folders, sockets, keys and temporary files of the job, and anything large in its work folder."""
    below = list((place.stack.data / "work" / job_id).rglob("*"))
    found = [f"process {process.pid}" for process in place.stack.workers_of(job_id)]
    found += [str(path) for path in below if path.name == "work" or path.is_socket() or path.suffix in (".key", ".pem", ".crt")]
    found += [str(path) for path in below if path.is_file() and path.stat().st_size > 64 << 10]
    return found + [str(path) for path in place.temporary.iterdir() if path.name != "nursery.sock" and not is_stack_own(path)]


def is_stack_own(path: Path) -> bool:
    """The folder of the nursery's socket, which stays while the stack runs."""
    return path.is_dir() and path.name.startswith("tutti-") and all(child.is_socket() for child in path.iterdir())

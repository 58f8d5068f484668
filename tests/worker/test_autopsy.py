"""What a training process died of, by its exit status, its log and what was held."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tutti_worker.autopsy import of_training
from tutti_worker.forked import Outputs
from tutti_worker.logs import LogBook
from tutti_worker.messages import Ended, pair
from tutti_worker.settings import Settings
from tutti_worker.warm_link import WarmLink
from tutti_worker.worker import Worker

from chalicelib.contracts.job import Cause
from chalicelib.contracts.worker import Assignment, Role, Source
from tests.worker.builders import eventually


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    """A worker that is signed in, with nothing in its log."""
    here, there = pair()
    made = Worker(Settings("http://127.0.0.1:9/api", "code", tmp_path, "127.0.0.1"), WarmLink(0, here), Outputs(-1, -1), {})
    made.logs = LogBook(lambda *_: None)
    made.assignment = Assignment(
        job_id="job-1", attempt=1, role=Role.CLIENT, site="site-2", sites=("site-2",), rounds=1, minimum=1, heartbeat_s=1,
        heartbeat_timeout_s=600, job_zip=Source(url="u", size=1), memory_limit=512 << 20,
    )  # fmt: skip
    yield made
    for connection in (made.api, made.uploads, made.downloads, here, there):
        connection.close()


def died(worker: Worker, status: int, over_limit: int | None = None) -> Cause:
    return of_training(worker, Ended("1", 7, "job", status), over_limit)


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (0, "process_crashed", "os._exit()"),
        (3, "process_crashed", "exit status 3"),
        (-signal.SIGSEGV, "process_crashed", "SIGSEGV"),
        (-signal.SIGABRT, "process_crashed", "SIGABRT"),
        (-signal.SIGKILL, "process_killed", "SIGKILL"),
        (-signal.SIGTERM, "process_killed", "SIGTERM"),
        (103, "config_invalid", "config"),
    ],
)
def test_the_exit_status_tells_an_end_of_its_own_from_one_from_outside(worker: Worker, status: int, code: str, said: str) -> None:
    cause = died(worker, status)
    assert (cause.code, cause.site, said in cause.sentence) == (code, "site-2", True)


def test_a_crash_names_the_line_that_python_noted(worker: Worker) -> None:
    worker.layout.whereabouts.write_text(
        'Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n'
        '  File "/w/custom/model_def.py", line 31 in fl_train_model\n'
    )  # fmt: skip
    cause = died(worker, -signal.SIGSEGV)
    assert (cause.file, cause.line) == ("scripts/model_def.py", 31)


def test_where_it_once_hung_is_not_where_it_was_killed(worker: Worker) -> None:
    worker.layout.whereabouts.write_text('Thread 0x1 (most recent call first):\n  File "/w/custom/model_def.py", line 31 in f\n')
    assert died(worker, -signal.SIGKILL).line is None


def test_memory_over_the_limit_is_told_in_numbers(worker: Worker) -> None:
    cause = died(worker, -signal.SIGKILL, over_limit=600 << 20)
    assert (cause.code, "600 MiB" in cause.sentence, "512 MiB" in cause.sentence) == ("out_of_memory", True, True)


def test_a_log_that_names_missing_memory_beats_the_exit_status(worker: Worker) -> None:
    read_end, write_end = os.pipe()
    worker.logs.read(read_end, "job")
    os.write(write_end, b"MemoryError\n")
    os.close(write_end)
    assert eventually(lambda: worker.logs.tail("job") != [])
    assert died(worker, 1).code == "out_of_memory"

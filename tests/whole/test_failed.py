"""Ends that are not good: each told apart by name and place, nothing left behind."""

import os
import signal
import time
from pathlib import Path

import pytest
from tutti_fl import Client
from tutti_fl.shapes.jobs import Job

from tests.whole.builders import FOREVER, MODEL_DEF, folder, spoiled
from tests.whole.conftest import LiveStack, job_run, run

pytestmark = pytest.mark.process

TRAINS_WITHIN_S = 120
TRAIN = '    env = payload["env"]\n'


def failed(client: Client, root: Path, name: str) -> Job:
    """The job of a run that was to fail."""
    outcome = run(client, root, name, rounds=1)
    assert outcome.job is not None
    return outcome.job


def line_of(source: str, words: str) -> int:
    """The number of the first line with these words."""
    return next(number for number, line in enumerate(source.splitlines(), 1) if words in line)


def wait_until_training(client: Client, job_id: str) -> None:
    """Return once a worker trains."""
    for live in client.follow(job_id):
        if any(worker.phase == "training" for worker in live.workers):
            return
    raise AssertionError("the job ended before anybody trained")


def test_an_import_error_is_named_with_file_and_line(ada: Client, stack: LiveStack, tmp_path: Path) -> None:
    source = spoiled("import numpy as np\n", "import numpy as np\nimport no_such_package_at_all\n")
    job = failed(ada, folder(tmp_path / "f", shards=1, model_def=source), "import-error")
    assert job.reason is not None
    assert (job.state, job.reason.code, job.reason.fault) == ("FAILED", "missing_module", "your_code")
    place = (job.reason.file, job.reason.line)
    assert place == ("scripts/model_def.py", line_of(source, "no_such_package_at_all"))
    assert stack.workers_of(job.id) == []


def test_an_exception_in_training_is_named_with_its_traceback(ada: Client, stack: LiveStack, tmp_path: Path) -> None:
    source = spoiled(TRAIN, TRAIN + '    raise ValueError("no rows like these")\n')
    job = failed(ada, folder(tmp_path / "f", shards=1, model_def=source), "raises")
    assert job.reason is not None
    assert (job.state, job.reason.code, job.reason.site) == ("FAILED", "training_raised", "site-1")
    assert (job.reason.file, job.reason.line) == ("scripts/model_def.py", line_of(source, "no rows like these"))
    assert "no rows like these" in "\n".join(job.reason.evidence)
    assert stack.workers_of(job.id) == []


@pytest.mark.slow
def test_a_wrong_return_value_is_told_from_an_exception(ada: Client, stack: LiveStack, tmp_path: Path) -> None:
    source = spoiled(TRAIN, TRAIN + "    return None\n")
    job = failed(ada, folder(tmp_path / "f", shards=1, model_def=source), "returns-none")
    assert job.reason is not None
    assert (job.state, job.reason.code, job.reason.site) == ("FAILED", "wrong_return", "site-1")
    assert stack.workers_of(job.id) == []


def test_a_killed_worker_is_named_with_its_signal(ada: Client, stack: LiveStack, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    source = spoiled(TRAIN, f"{TRAIN}    open({str(note)!r}, 'w').write(str(os.getpid()))\n{FOREVER}")
    begun = job_run(ada, folder(tmp_path / "f", shards=1, model_def=source), "killed")
    begun.check()
    job_id = begun.launch().id
    os.kill(pid_in(note), signal.SIGKILL)
    begun.follow()
    job = begun.outcome.job
    assert job is not None
    assert job.reason is not None
    assert (job.state, job.reason.code, job.reason.site) == ("FAILED", "process_killed", "site-1")
    assert stack.workers_of(job_id) == []


def pid_in(note: Path) -> int:
    """The process that trains, once it has noted itself."""
    until = time.monotonic() + TRAINS_WITHIN_S
    while not note.exists() or not note.read_text():
        assert time.monotonic() < until, "nobody came to train"
        time.sleep(0.1)
    return int(note.read_text())


def test_a_cancelled_job_leaves_nothing_running(ada: Client, stack: LiveStack, tmp_path: Path) -> None:
    begun = job_run(ada, folder(tmp_path / "f", model_def=spoiled(TRAIN, TRAIN + FOREVER)), "cancelled")
    begun.check()
    job_id = begun.launch().id
    wait_until_training(ada, job_id)
    asked = time.monotonic()
    ada.cancel(job_id)
    acknowledged = time.monotonic() - asked
    begun.follow()
    gone = time.monotonic() - asked
    job = begun.outcome.job
    assert job is not None
    assert (job.state, stack.workers_of(job_id)) == ("CANCELLED", [])
    assert acknowledged < 6, "promised within 2 s"
    assert gone < 30, "promised within 10 s"


def test_a_job_that_failed_gives_its_workers_back(ada: Client, tmp_path: Path) -> None:
    failed(ada, folder(tmp_path / "f", shards=1, model_def=MODEL_DEF.replace("FLModelWrapper()", "Missing()")), "gives-back")
    offer = next(offer for offer in ada.jobs.offers() if offer.gpu_type == "cpu")
    assert offer.free == offer.total


def test_the_log_of_a_failed_job_is_there(ada: Client, tmp_path: Path) -> None:
    source = spoiled(TRAIN, TRAIN + "    return 5\n")
    job = failed(ada, folder(tmp_path / "f", shards=1, model_def=source), "log-of-failure")
    assert [segment.source for segment in ada.jobs.logs(job.id, "site-1")] != []

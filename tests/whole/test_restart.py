"""The stack killed in the middle of a round, and the nursery too: the job is carried to its true end."""

import json
import os
import signal
from pathlib import Path

import psutil
import pytest
from tutti_fl import Client

from tests.whole.builders import folder
from tests.whole.conftest import LiveStack, job_run
from tests.whole.killable import faults, killable, until

pytestmark = pytest.mark.process


def test_a_job_outlives_a_killed_stack(tmp_path: Path) -> None:
    with killable(tmp_path) as stack, stack.client() as ada:
        begun = job_run(ada, folder(tmp_path / "f"), "outlives", rounds=12, local_epochs=50)
        begun.check()
        job_id = begun.launch().id
        until(lambda: stack.job(job_id)["rounds_done"] >= 1, "a round is done")
        stack.kill()
        assert LiveStack(stack.url, stack.data).workers_of(job_id) != []
        stack.up()
        begun.follow()
        job = stack.job(job_id)
        assert (job["state"], job["rounds_done"]) == ("FINISHED", 12), job["reason"]
        assert faults(stack, job_id, sites=2) == []


@pytest.mark.slow
def test_a_job_outlives_its_nursery(ada: Client, stack: LiveStack, tmp_path: Path) -> None:
    begun = job_run(ada, folder(tmp_path / "f", shards=1), "nursery", rounds=20, local_epochs=50)
    begun.check()
    job_id = begun.launch().id
    for live in ada.follow(job_id):
        if live.job is not None and live.job.rounds_done >= 1:
            break
    nurseries = [p.pid for p in psutil.process_iter() if str(stack.data / "nursery.sock") in _line(p)]
    for pid in nurseries:
        if psutil.Process(pid).ppid() == _stack_pid(stack):
            os.kill(pid, signal.SIGKILL)
    begun.follow()
    assert begun.outcome.job is not None
    assert begun.outcome.job.state == "FINISHED", begun.outcome.job.reason


def _stack_pid(stack: LiveStack) -> int:
    return int(json.loads((stack.data / "running.json").read_text())["pid"])


def _line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""

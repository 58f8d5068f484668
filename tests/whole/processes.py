"""The processes of a worker on this machine, told apart."""

import time
from pathlib import Path

import psutil
from tutti_fl import Client

from tests.whole.conftest import LiveStack

TRAINS_WITHIN_S = 180


def wait_until_training(client: Client, job_id: str, site: str) -> None:
    """Return once this worker trains."""
    for live in client.follow(job_id):
        if any(worker.site == site and worker.phase == "training" for worker in live.workers):
            return
    raise AssertionError("the job ended before it trained")


def processes_of(stack: LiveStack, job_id: str, site: str) -> list[psutil.Process]:
    """Every live process of one worker."""
    return [process for process in stack.workers_of(job_id) if f"/{site}" in process.environ().get("TUTTI_HANDLE", "")]


def supervisor_of(stack: LiveStack, job_id: str, site: str) -> int:
    """The process of ``tutti_worker`` itself."""
    lines = {process.pid: process.cmdline() for process in processes_of(stack, job_id, site)}
    return next(int(pid) for pid, line in lines.items() if line[-2:] == ["-m", "tutti_worker"] and "local_stack.shim" not in line)


def noted(note: Path) -> int:
    """The pid that user code has written there."""
    until = time.monotonic() + TRAINS_WITHIN_S
    while not note.exists() or not note.read_text():
        assert time.monotonic() < until, "nobody came to train"
        time.sleep(0.1)
    return int(note.read_text())

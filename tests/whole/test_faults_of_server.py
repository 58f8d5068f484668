"""The central server killed in its parts and as a whole, in the middle of a round: the job is FAILED, and says so."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from tutti_fl import Client

from tests.whole.conftest import LiveStack
from tests.whole.faults import Fault, before_training, followed, launched, wish
from tests.whole.processes import noted, processes_of, supervisor_of, wait_until_training

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(600)]

ENDS_WITHIN_S = 45
"""From the kill; a quiet machine with two cores needs 2 to 8."""

INIT = "        super().__init__()\n"
NOTE = "        os.environ.get('TUTTI_SITE') == 'server' and open({!r}, 'w').write(str(os.getpid()))\n"
"""The server's model is built in its job process, and once before that, in the try of the scripts."""
Choice = Callable[[LiveStack, str, Path], list[int]]


def job_process(stack: LiveStack, job_id: str, note: Path) -> list[int]:
    """The process in which the server's model and its average are."""
    return [noted(note)]


def parent_process(stack: LiveStack, job_id: str, note: Path) -> list[int]:
    """NVFLARE's own server, which every message passes through."""
    job = psutil.Process(noted(note))
    warm = job.parent()
    assert warm is not None
    return [child.pid for child in warm.children() if child.pid != job.pid]


def supervisor(stack: LiveStack, job_id: str, note: Path) -> list[int]:
    """What the platform started."""
    return [supervisor_of(stack, job_id, "server")]


def everything(stack: LiveStack, job_id: str, note: Path) -> list[int]:
    """The machine it runs on, as it were."""
    return [process.pid for process in processes_of(stack, job_id, "server")]


PARTS: dict[str, tuple[Choice, str]] = {
    "its job process": (job_process, "process_killed"),
    "NVFLARE's server": (parent_process, "process_killed"),
    "its supervisor": (supervisor, "process_killed"),
    "all of it": (everything, "server_lost"),
}


@pytest.mark.parametrize("part", PARTS)
def test_a_job_whose_server_is_killed_fails_and_names_it(part: str, ada: Client, stack: LiveStack, tmp_path: Path) -> None:
    choose, code = PARTS[part]
    note = tmp_path / "pid"
    source = before_training("time.sleep(600)", None).replace(INIT, INIT + NOTE.format(str(note)))
    begun = wish(ada, tmp_path / "f", f"server-{list(PARTS).index(part)}", Fault(source, code, ""), shards=2)
    job_id = launched(begun)
    wait_until_training(ada, job_id, "site-1")
    for pid in choose(stack, job_id, note):
        os.kill(pid, signal.SIGKILL)
    killed_at = ada.jobs.live(job_id).feed[-1].at
    ended = followed(ada, begun)
    print(f"{part} | {ended.job.state} | {ended.reason.code} | {ended.reason.site} | {ended.reason.sentence}")
    assert (ended.job.state, ended.reason.code, ended.reason.site) == ("FAILED", code, "server"), ended.reason
    assert ended.job.ended_at is not None
    assert (ended.job.ended_at - killed_at).total_seconds() < ENDS_WITHIN_S
    assert stack.workers_of(job_id) == []

"""One real stack for all whole runs: its own process, as ``make up`` starts it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import psutil
import pytest
from tutti_fl import Client
from tutti_fl.folder import read_folder
from tutti_fl.outcome import Outcome
from tutti_fl.plain_teller import PlainTeller
from tutti_fl.run import JobRun, Wish
from tutti_fl.sign_in import sign_in_with_code
from tutti_fl.workspaces import Settings

ROOT = Path(__file__).parents[2]
UP_WITHIN_S = 120
DOWN_WITHIN_S = 90


@dataclass(frozen=True)
class LiveStack:
    """A running stack and how to sign in."""

    url: str
    data: Path

    def token(self, name: str) -> str:
        """An access token of this user, got as the command line gets it."""
        made = subprocess.run(
            [sys.executable, "-m", "local_stack", "code", "--data", str(self.data), "--name", name],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
        with Client(self.url, "") as nobody:
            return sign_in_with_code(self.url, nobody.account.sign_in(), made.stdout.strip()).token

    def workers_of(self, job_id: str) -> list[psutil.Process]:
        """Every live process that belongs to a job, by the mark the stack gives it or by the folder it works in."""
        return [process for process in psutil.process_iter() if _belongs(process, job_id)]


def _belongs(process: psutil.Process, job_id: str) -> bool:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return job_id in process.environ().get("TUTTI_HANDLE", "") or job_id in process.cwd()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


@contextmanager
def started(
    scratch: Path, data: Path, chosen: Mapping[str, str] = MappingProxyType({}), *, root: Path = ROOT
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A stack as ``make up`` starts it, over this data: its process and address. Stopped, with its jobs, at the end.

    ``chosen`` are settings that its environment makes; ``root`` is the folder whose program is started.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    ready, log_file = scratch / "ready.json", scratch / "stack.log"
    command = [sys.executable, "-m", "local_stack", "up", "--ephemeral", "--data", str(data), "--ready", str(ready)]
    with log_file.open("wb") as log:
        environ = {**os.environ, **chosen}
        process = subprocess.Popen(command, cwd=root, env=environ, stdout=log, stderr=log, start_new_session=True)
    try:
        until = time.monotonic() + UP_WITHIN_S
        while not ready.exists():
            assert process.poll() is None, log_file.read_text()
            assert time.monotonic() < until, log_file.read_text()
            time.sleep(0.1)
        yield process, json.loads(ready.read_text())["url"]
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(DOWN_WITHIN_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveStack]:
    """A stack with data and ports of its own."""
    folder = tmp_path_factory.mktemp("stack")
    with started(folder, folder / "data") as (_, url):
        yield LiveStack(url, folder / "data")


@pytest.fixture(scope="session")
def ada(stack: LiveStack) -> Iterator[Client]:
    """A signed-in user."""
    with Client(stack.url, stack.token("ada")) as client:
        yield client


@pytest.fixture(scope="session")
def bob(stack: LiveStack) -> Iterator[Client]:
    """Another one."""
    with Client(stack.url, stack.token("bob")) as client:
        yield client


def job_run(client: Client, folder: Path, name: str, *, rounds: int = 2, **parameters: object) -> JobRun:
    """A run of this folder that has not begun."""
    values = {"local_epochs": 3, "learning_rate": 0.1, **parameters}
    settings = Settings(parameters=values, federation={"rounds": rounds, "wait_for_stragglers_s": 1})  # type: ignore[arg-type]
    return JobRun(client, Wish(read_folder(folder), name, settings), PlainTeller(sys.stdout))


def run(client: Client, folder: Path, name: str, *, rounds: int = 2, **parameters: object) -> Outcome:
    """A whole run of this folder, to its end."""
    return job_run(client, folder, name, rounds=rounds, **parameters).run()

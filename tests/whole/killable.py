"""A stack that can be killed with all it started but the workers, and looked at from outside."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
from tutti_fl import Client

from chalicelib.adapters.s3 import S3ObjectStore, s3_client
from chalicelib.adapters.step_functions import step_functions_client
from chalicelib.contracts.job import SERVER
from chalicelib.domain import object_keys
from local_stack.object_store import REGION
from local_stack.store_identities import StoreIdentities
from local_stack.training_job import ARN
from tests.whole.conftest import LiveStack, started

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

PLATFORM_BUCKET = "tutti-platform"
PATIENCE_S = 600.0
Row = dict[str, Any]


def until(holds: Callable[[], bool], what: str, *, patience_s: float = PATIENCE_S) -> None:
    """Return as soon as it holds."""
    end = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < end, f"it never came to this: {what}"
        time.sleep(0.01)


class KillableStack:
    """A stack over one data folder, started as ``make up`` does it; killed, it leaves its workers and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.url = ""
        self.token = ""
        self._folder = folder
        self._starts = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._open = ExitStack()

    def up(self) -> None:
        """Start it; a user's token is got at the first time, and is good for all others."""
        self._starts += 1
        self._process, self.url = self._open.enter_context(started(self._folder / str(self._starts), self.data))
        self.token = self.token or LiveStack(self.url, self.data).token("ada")

    def kill(self) -> None:
        """SIGKILL to the stack, its object store and its nursery."""
        assert self._process is not None
        doomed = [self.store(), *self._nurseries()]
        self._process.kill()
        for one in doomed:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        self._process.wait()
        self._open.close()

    def close(self) -> None:
        """End it in order."""
        self._open.close()

    def freeze(self) -> None:
        """The stack does nothing from now on, and hears nothing."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """The stack goes on."""
        self._signal(signal.SIGCONT)

    def status(self, patience_s: float) -> int:
        """The exit status of a stack that ends by itself."""
        assert self._process is not None
        return self._process.wait(patience_s)

    def said(self) -> str:
        """What the last start has printed."""
        return (self._folder / str(self._starts) / "stack.log").read_text()

    def store(self) -> psutil.Process:
        """The object store's process."""
        return psutil.Process(json.loads((self.data / "objects" / "process.json").read_text())["pid"])

    def client(self) -> Client:
        """A signed-in user. The caller closes it."""
        return Client(self.url, self.token)

    def rows(self, query: str, *values: str) -> list[Row]:
        """What the records say now."""
        with closing(sqlite3.connect(f"file:{self.data / 'records.db'}?mode=ro", uri=True, timeout=30)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(query, values)]

    def job(self, job_id: str) -> Row:
        """The job's row."""
        [row] = self.rows("SELECT body FROM jobs WHERE id = ?", job_id)
        body: Row = json.loads(row["body"])
        return body

    def notes(self, job_id: str) -> list[Row]:
        """What the stack has written down of the job's workers that are not settled."""
        found = []
        for file in (self.data / "work" / job_id).glob("attempt-*/*/process.json"):
            with suppress(FileNotFoundError):
                found.append(json.loads(file.read_text()))
        return found

    @property
    def s3_url(self) -> str:
        """Where the object store listens."""
        return str(json.loads((self.data / "running.json").read_text())["s3_url"])

    @contextmanager
    def objects(self) -> Iterator[S3ObjectStore]:
        """The bucket of everybody, with the platform's keys."""
        pair = StoreIdentities(self.data / "objects" / "identities.json").platform()
        store = S3ObjectStore(
            s3_client(
                endpoint_url=self.s3_url, region=REGION, access_key=pair.access_key, secret_key=pair.secret_key, path_style=True
            )
        )
        yield store
        store.close()

    @contextmanager
    def state_machines(self) -> Iterator["SFNClient"]:
        """The state machines of this stack, by their protocol."""
        inner = json.loads((self.data / "running.json").read_text())["inner_url"]
        client = step_functions_client(region=REGION, endpoint_url=inner)
        yield client
        client.close()

    def _signal(self, number: int) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def _nurseries(self) -> list[psutil.Process]:
        assert self._process is not None
        children = psutil.Process(self._process.pid).children()
        return [child for child in children if "tutti_worker.nursery" in _command(child)]


@contextmanager
def killable(folder: Path) -> Iterator[KillableStack]:
    """A stack of its own below this folder, up; taken down at the end."""
    stack = KillableStack(folder)
    try:
        stack.up()
        yield stack
    finally:
        stack.close()


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


# What must hold at the end of a job, however often the stack was killed.


def faults(stack: KillableStack, job_id: str, *, sites: int, ran: bool = True) -> list[str]:
    """What was done twice or left behind, in words; ``ran`` says that the workers came to start."""
    until(lambda: not stack.notes(job_id), "the ends of the workers are settled", patience_s=60)
    names = {SERVER, *(f"site-{number}" for number in range(1, sites + 1))}
    used = {row["site"]: row["used"] for row in stack.rows(_CODES_USED, job_id)}
    seqs = [row["seq"] for row in stack.rows("SELECT seq FROM changes WHERE job_id = ? ORDER BY seq", job_id)]
    checks = {
        "each worker has come up once": used == dict.fromkeys(names, 1) if ran else set(used.values()) <= {0, 1},
        "no credential is good any more": not stack.rows("SELECT 1 FROM worker_codes WHERE job_id = ? AND NOT revoked", job_id),
        "the feed has no gap": seqs == list(range(1, len(seqs) + 1)) and len(seqs) == stack.job(job_id)["seq"],
        "each round is booked once": _booked(stack, job_id) == list(range(stack.job(job_id)["rounds_done"])),
        "the times are in order": _in_order(stack.job(job_id)),
        "nothing is held": not stack.rows("SELECT slot FROM leases"),
        "no process is left": not LiveStack(stack.url, stack.data).workers_of(job_id),
        "no scratch is left": not list((stack.data / "work" / job_id).glob("attempt-*/*/work")),
        "no kit is left": not _keys(stack, object_keys.kits(job_id)),
        "one execution, and it is over": _executions(stack, job_id) in (["SUCCEEDED"], ["FAILED"]),
    }
    return [name for name, holds in checks.items() if not holds]


_CODES_USED = "SELECT site, COUNT(nonce_hash) AS used FROM worker_codes WHERE job_id = ? GROUP BY site"


def _booked(stack: KillableStack, job_id: str) -> list[int]:
    found = stack.rows("SELECT body FROM changes WHERE job_id = ? AND kind = 'round_ended' ORDER BY seq", job_id)
    return [json.loads(row["body"])["change"]["round"] for row in found]


def _in_order(job: Row) -> bool:
    times = [job[name] for name in ("created_at", "running_at", "finishing_at", "ended_at") if job[name]]
    return times == sorted(times) and job["ended_at"] is not None


def _keys(stack: KillableStack, prefix: str) -> list[str]:
    with stack.objects() as objects:
        return [item.key for item in objects.list(PLATFORM_BUCKET, prefix).objects]


def _executions(stack: KillableStack, job_id: str) -> list[str]:
    """The ends of the job's executions; it is over a moment after the job is."""
    end = time.monotonic() + 30
    with stack.state_machines() as client:
        while True:
            found = client.list_executions(stateMachineArn=ARN, maxResults=1000)["executions"]
            states = [one["status"] for one in found if one["name"] == job_id]
            if "RUNNING" not in states or time.monotonic() > end:
                return [str(state) for state in states]
            time.sleep(0.1)

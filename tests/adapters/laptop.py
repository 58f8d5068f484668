"""A laptop whose stack can be restarted, and small stand-ins for the worker; every process is real."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import psutil

from chalicelib.contracts.worker import Role
from chalicelib.domain.errors import Busy
from chalicelib.ports import WorkerExit, WorkerSpec
from local_stack.compute import LaptopCompute
from local_stack.process_tree import kill, members

PROJECT = Path(__file__).parents[2]
PATIENCE_S = 20.0
SLEEPS = "import time; time.sleep(600)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); open('up', 'w').close(); time.sleep(600)"
POLITE = "import signal, time; signal.signal(signal.SIGTERM, lambda *_: exit(7)); open('up', 'w').close(); time.sleep(600)"
LEAVES_A_CHILD = (
    "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)"
)
WITH_A_CHILD = LEAVES_A_CHILD + "; import time; open('up', 'w').close(); time.sleep(600)"

A_STACK = """
import sys, time
from pathlib import Path
from tests.adapters.laptop import POLITE, Laptop
laptop = Laptop(Path(sys.argv[1]))
laptop.start(laptop.compute(POLITE))
time.sleep(600)
"""


class Laptop:
    """A laptop whose stack can be restarted; what its Compute tells is kept in ``exits``."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.exits: list[WorkerExit] = []
        self.refusals = 0
        self.handles: list[str] = []
        self.open: list[LaptopCompute] = []

    def compute(
        self,
        code: str = SLEEPS,
        *,
        kill_after: float = 25.0,
        variables: Mapping[str, str] = MappingProxyType({}),
        python: str = sys.executable,
        program: str = sys.executable,
    ) -> LaptopCompute:
        """A stack's Compute whose workers run this Python code, in a stack with these environment variables."""
        made = LaptopCompute(
            self.work,
            "http://127.0.0.1:9/api",
            Path(python),
            self._hear,
            environment={"PATH": os.environ["PATH"], **variables},
            project=PROJECT,
            devices=lambda job_id, site: f"device of {job_id} {site}",
            command=(program, "-c", code),
            kill_after=kill_after,
            poll=0.05,
        )
        self.open.append(made)
        return made

    def start(self, compute: LaptopCompute, site: str = "site-1") -> str:
        handle = compute.start(spec(site))
        self.handles.append(handle)
        return handle

    def folder(self, site: str = "site-1") -> Path:
        return self.work / "job-1" / "attempt-1" / site

    def shim(self) -> psutil.Process:
        """The shim of the one worker."""
        return psutil.Process(json.loads((self.folder() / "process.json").read_text())["pid"])

    def worker(self) -> psutil.Process:
        """The worker of the one shim, once it runs."""
        eventually(lambda: len(self.shim().children()) == 1)
        return self.shim().children()[0]

    def is_up(self) -> bool:
        """True once the worker's code says so; before, a signal would meet Python's own start."""
        return (self.folder() / "work" / "up").exists()

    def _hear(self, end: WorkerExit) -> None:
        if self.refusals > 0:
            self.refusals -= 1
            raise Busy("the records are busy")
        self.exits.append(end)


@contextmanager
def a_laptop(work: Path) -> Iterator[Laptop]:
    """A laptop on which nothing is left running afterwards."""
    laptop = Laptop(work)
    yield laptop
    for compute in laptop.open:
        compute.close()
    for handle in laptop.handles:
        kill(members(handle, session=None))


def spec(site: str = "site-1", job_id: str = "job-1") -> WorkerSpec:
    return WorkerSpec(job_id, attempt=1, site=site, role=Role.CLIENT, code="one-time", gpu_type="cpu", threads=3)


def eventually(holds: Callable[[], bool]) -> None:
    """Return once it holds; fail when it does not within a patient time."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)


def ended(laptop: Laptop, compute: LaptopCompute, handle: str) -> list[int | None]:
    """The statuses told by the time the worker is gone and settled."""
    eventually(lambda: bool(laptop.exits) and compute.gone(handle))
    return [end.status for end in laptop.exits]


def wake_ups_of_the_watch() -> int:
    """How often the one watching thread has gone to sleep so far."""
    [watch] = [thread for thread in threading.enumerate() if thread.name == "workers"]
    status = Path(f"/proc/self/task/{watch.native_id}/status").read_text().split()
    return int(status[status.index("voluntary_ctxt_switches:") + 1])


def forget_the_process(laptop: Laptop) -> None:
    """As if the stack had died between starting the process and writing its number down."""
    path = laptop.folder() / "process.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pid": None, "started": None}))

"""One worker on this machine: its folder, what is written there about it, and its processes."""

import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from chalicelib.contracts.base import Lenient
from chalicelib.ports import WorkerExit, WorkerSpec
from local_stack.process_start import start_of
from local_stack.process_tree import is_alive, kill, members
from local_stack.shim import SCRATCH, STATUS_FILE
from local_stack.whole_file import write_whole

RUNNING_FILE = "process.json"
_ENDED_FILE = "ended.json"
_OUTPUT_FILE = "output.log"
_SHIM_GRACE_S = 2.0


class ProcessRecord(Lenient):
    """What a restarted stack must know of a worker; ``pid`` and ``started`` are its shim's, None before it was started."""

    job_id: str
    attempt: int
    site: str
    pid: int | None = None
    started: float | None = None
    kill_at: float | None = None
    """When it must be gone, in seconds since the epoch; None unless it was asked to leave."""
    reported: bool = False


class _Ending(Lenient):
    """What the shim writes."""

    status: int
    out_of_memory: bool = False


def handle_of(spec: WorkerSpec) -> str:
    """The name of a worker among all workers of this machine."""
    return f"{spec.job_id}/{spec.attempt}/{spec.site}"


def folder_of(spec: WorkerSpec, work: Path) -> Path:
    """The worker's folder below ``work``."""
    return work / spec.job_id / f"attempt-{spec.attempt}" / spec.site


def has_ended(folder: Path) -> bool:
    """True when a worker of this folder ran, ended and was reported."""
    return (folder / _ENDED_FILE).exists()


class WorkerProcess:
    """A worker that was started and whose end is not settled yet. Not safe in threads: its owner holds a lock."""

    def __init__(self, folder: Path, record: ProcessRecord) -> None:
        self.folder = folder
        self.record = record
        self._session: int | None = None

    @classmethod
    def launched(cls, spec: WorkerSpec, folder: Path, command: Sequence[str], environment: Mapping[str, str]) -> "WorkerProcess":
        """Start the command (a shim) in a session of its own; OSError when it cannot be. The record is on disk before it runs."""
        shutil.rmtree(folder, ignore_errors=True)  # what a stack left that died before it wrote the record
        (folder / SCRATCH).mkdir(parents=True)
        process = cls(folder, ProcessRecord(job_id=spec.job_id, attempt=spec.attempt, site=spec.site))
        process._note()
        try:
            process._adopt(_spawn(command, environment, folder / _OUTPUT_FILE))
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return process

    @classmethod
    def found(cls, folder: Path) -> "WorkerProcess | None":
        """The worker an earlier stack started in this folder. None, and the folder gone, when the stack died before it ran."""
        process = cls(folder, ProcessRecord.model_validate_json((folder / RUNNING_FILE).read_text(encoding="utf-8")))
        if process.record.pid is None:
            process._find_shim()
        if process.record.pid is None and not (folder / STATUS_FILE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            return None
        return process

    @property
    def handle(self) -> str:
        """Its name; also the marker in its environment."""
        return f"{self.record.job_id}/{self.record.attempt}/{self.record.site}"

    def is_alive(self) -> bool:
        """True while the shim runs."""
        pid, started = self.record.pid, self.record.started
        if pid is None or started is None:
            return False
        _reap(pid)
        alive = is_alive(pid, started)
        if alive:
            self._session = pid
        return alive

    def leftovers(self) -> list[psutil.Process]:
        """Every process of this worker that still lives, the shim included. A shim that was dead when this stack first looked
        proves nothing about its session (the machine may have been rebooted): then only the marker counts."""
        return members(self.handle, session=self._session)

    def ask_to_leave(self, *, kill_at: float) -> None:
        """SIGTERM to the worker by way of its shim; what is left at ``kill_at`` is killed by ``enforce``."""
        self._note(kill_at=kill_at)
        self.repeat_request()

    def repeat_request(self) -> None:
        """SIGTERM again, for a stack that died between writing the request down and sending it."""
        if self.record.pid is not None and self.is_alive():
            with suppress(psutil.NoSuchProcess):
                psutil.Process(self.record.pid).terminate()

    def enforce(self, now: float) -> None:
        """Kill everything once the time to leave is over; the shim 2 s after the rest, so that it can write the status."""
        if self.record.kill_at is None or now < self.record.kill_at:
            return
        shim = self.record.pid if now < self.record.kill_at + _SHIM_GRACE_S else None
        kill(process for process in self.leftovers() if process.pid != shim)

    def ending(self, *, alive: bool) -> WorkerExit | None:
        """How it ended; None while it runs. A shim that died without a word: status None."""
        path, record = self.folder / STATUS_FILE, self.record
        if path.exists():
            end = _Ending.model_validate_json(path.read_text(encoding="utf-8"))
            return WorkerExit(record.job_id, record.attempt, record.site, end.status, end.out_of_memory)
        return None if alive else WorkerExit(record.job_id, record.attempt, record.site, None)

    def note_reported(self) -> None:
        """Its end was told; never again, also not by the next stack."""
        self._note(reported=True)

    def is_swept(self) -> bool:
        """True once nothing of it runs (what does is killed) and its scratch is gone; for a worker whose shim is gone."""
        left = self.leftovers()
        kill(left)
        if not left:
            shutil.rmtree(self.folder / SCRATCH, ignore_errors=True)
        return not left

    def settle(self) -> None:
        """Nothing is left to do; the next stack does not look at it."""
        (self.folder / RUNNING_FILE).replace(self.folder / _ENDED_FILE)

    def _find_shim(self) -> None:
        for process in members(self.handle, session=None):
            if _leads_its_session(process.pid):
                with suppress(psutil.NoSuchProcess):
                    self._adopt(process.pid)
                return

    def _adopt(self, pid: int) -> None:
        self._note(pid=pid, started=start_of(pid))

    def _note(self, **changes: object) -> None:
        self.record = self.record.model_copy(update=changes)
        write_whole(self.folder / RUNNING_FILE, self.record.model_dump_json())


def _spawn(command: Sequence[str], environment: Mapping[str, str], output: Path) -> int:
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(output), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    # SIGTERM waits until the shim can hand it on; what Python ignores must not stay ignored in a worker.
    masked, default = [signal.SIGTERM], [signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ]
    program, arguments = command[0], list(command)
    return os.posix_spawn(program, arguments, environment, file_actions=files, setsid=True, setsigmask=masked, setsigdef=default)


def _reap(pid: int) -> None:
    """A shim that this very process started stays a zombie until it is waited for."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def _leads_its_session(pid: int) -> bool:
    try:
        return os.getsid(pid) == pid
    except ProcessLookupError:
        return False

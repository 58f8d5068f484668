"""Workers as child processes that outlive the stack."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Condition, Thread

import psutil

from chalicelib.domain.errors import NoCapacity
from chalicelib.ports import WorkerExit, WorkerSpec
from local_stack.process_tree import members
from local_stack.shim import SCRATCH
from local_stack.worker_environment import Surroundings, worker_environment
from local_stack.worker_process import RUNNING_FILE, WorkerProcess, folder_of, handle_of, has_ended

_REPORT_AGAIN_S = 2.0


def no_devices(job_id: str, site: str) -> str:  # noqa: ARG001 - the shape of the seam
    """CUDA_VISIBLE_DEVICES of a worker on a machine without any."""
    return ""


class LaptopCompute:
    """Compute on this machine. Each worker runs under a shim in a session of its own, in ``<work>/<job>/attempt-<k>/<site>/``.

    ``on_exit`` is told of every end once, from the one watching thread; when it raises it is told again later. Only a stack that
    is killed between telling and writing that down tells twice. ``devices`` gives (job id, site) its CUDA_VISIBLE_DEVICES,
    ``nursery`` the socket of a process that lends workers what they import.
    """

    def __init__(
        self,
        work: Path,
        api_url: str,
        python: Path,
        on_exit: Callable[[WorkerExit], None],
        *,
        environment: Mapping[str, str],
        project: Path,
        devices: Callable[[str, str], str] = no_devices,
        nursery: Callable[[], Path] | None = None,
        command: Sequence[str] = (),
        host: str = "127.0.0.1",
        kill_after: float = 25.0,
        poll: float = 0.2,
    ) -> None:
        self._work = work.resolve()
        self._shim = (str(python), "-P", "-m", "local_stack.shim")
        self._command = tuple(command) or (str(python), "-P", "-m", "tutti_worker")
        self._surroundings = Surroundings(api_url=api_url, host=host, project=project, environment=environment)
        self._on_exit = on_exit
        self._devices = devices
        self._nursery = nursery
        self._kill_after = kill_after
        self._poll = poll
        self._changed = Condition()
        self._watched: dict[str, WorkerProcess] = {}
        self._report_at: dict[str, float] = {}
        self._closed = False
        self._thread: Thread | None = None
        self._log = logging.getLogger(__name__)

    def start(self, spec: WorkerSpec) -> str:
        """Start the worker and answer its handle. One that runs or has run for this (job, attempt, site) is not started again:
        its place is taken by a new attempt, never by a second process. Cannot be started: NoCapacity."""
        handle, folder = handle_of(spec), folder_of(spec, self._work)
        devices = self._devices(spec.job_id, spec.site)
        with self._changed:
            if handle not in self._watched and not has_ended(folder):
                process = self._found(folder) or self._launched(spec, folder, devices)
                self._watch(process)
        return handle

    def stop(self, handle: str) -> None:
        """SIGTERM now, SIGKILL to all of it when the time to leave is over, also when another stack has taken over by then."""
        with self._changed:
            process = self._watched.get(handle)
            if process is not None and process.record.kill_at is None:
                process.ask_to_leave(kill_at=time.time() + self._kill_after)

    def handles(self, job_id: str) -> Sequence[str]:
        """The workers of the job that were started here and are not settled."""
        with self._changed:
            return tuple(handle for handle in self._watched if handle.startswith(f"{job_id}/"))

    def gone(self, handle: str) -> bool:
        """True when no process of this worker is left; also for an unknown handle."""
        with self._changed:
            process = self._watched.get(handle)
            if process is not None and process.is_alive():
                return False
        return not (process.leftovers() if process is not None else members(handle, session=None))

    def reattach(self) -> Sequence[str]:
        """Take over the workers an earlier stack left and answer their handles; the ends it missed are told like any other.
        Call it before anything is started."""
        with self._changed:
            for record in sorted(self._work.glob(f"*/attempt-*/*/{RUNNING_FILE}")):
                self._take_over(record.parent)
            return tuple(self._watched)

    def is_busy(self) -> bool:
        """Whether any worker runs."""
        return bool(self._watched)

    def close(self) -> None:
        """Look no more; every worker runs on."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _launched(self, spec: WorkerSpec, folder: Path, devices: str) -> WorkerProcess:
        scratch, handle = folder / SCRATCH, handle_of(spec)
        environment = worker_environment(spec, self._surroundings, handle=handle, scratch=scratch, devices=devices)
        if self._nursery is not None:
            environment["TUTTI_NURSERY"] = str(self._nursery())
        try:
            return WorkerProcess.launched(spec, folder, (*self._shim, str(folder), *self._command), environment)
        except OSError as error:
            raise NoCapacity(f"{handle} could not be started: {error}", hint="Free memory or disk on this machine.") from error

    def _found(self, folder: Path) -> WorkerProcess | None:
        return WorkerProcess.found(folder) if (folder / RUNNING_FILE).exists() else None

    def _take_over(self, folder: Path) -> None:
        process = self._found(folder)
        if process is None or process.handle in self._watched:
            return
        if process.record.kill_at is not None:
            process.repeat_request()
        self._watch(process)

    def _watch(self, process: WorkerProcess) -> None:
        self._watched[process.handle] = process
        if self._thread is None:
            self._thread = Thread(target=self._look_on, name="workers", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _look_on(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._watched)
                watched = tuple(self._watched.values())
            for process in watched:
                self._look_safely_at(process)
            with self._changed:
                if self._changed.wait_for(lambda: self._closed, self._poll):
                    return

    def _look_safely_at(self, process: WorkerProcess) -> None:
        try:
            self._look_at(process)
        except (OSError, psutil.Error):  # a full disk, say: the watch over the others, and over this one later, goes on
            self._log.exception("a worker could not be looked at", extra={"handle": process.handle})

    def _look_at(self, process: WorkerProcess) -> None:
        with self._changed:
            alive = process.is_alive()
            if alive:
                process.enforce(time.time())
            ending = None if process.record.reported else process.ending(alive=alive)
        if ending is not None:
            self._report(process, ending)
        if not alive and process.is_swept() and process.record.reported:
            self._settle(process)

    def _report(self, process: WorkerProcess, ending: WorkerExit) -> None:
        if time.monotonic() < self._report_at.get(process.handle, 0.0):
            return
        try:
            self._on_exit(ending)
        except Exception:  # noqa: BLE001 - a door: whatever is wrong with one end, the other workers are still watched
            self._log.exception("worker exit not accepted, told again later", extra={"handle": process.handle})
            self._report_at[process.handle] = time.monotonic() + _REPORT_AGAIN_S
            return
        self._log.info("worker exited", extra={"handle": process.handle, "status": ending.status})
        with self._changed:
            process.note_reported()

    def _settle(self, process: WorkerProcess) -> None:
        with self._changed:
            process.settle()
            self._watched.pop(process.handle, None)
            self._report_at.pop(process.handle, None)

"""NVFLARE job launchers that fork the job from the warm process instead of starting an interpreter."""

import os
import shlex
import socket
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nvflare.apis.fl_constant import FLContextKey, JobConstants
from nvflare.apis.fl_context import FLContext
from nvflare.apis.job_launcher_spec import JobHandleSpec, JobReturnCode
from nvflare.apis.workspace import Workspace
from nvflare.app_common.job_launcher.client_process_launcher import ClientProcessJobLauncher
from nvflare.app_common.job_launcher.process_launcher import JOB_RETURN_CODE_MAPPING
from nvflare.app_common.job_launcher.server_process_launcher import ServerProcessJobLauncher
from nvflare.utils.job_launcher_utils import get_credential_env

from tutti_worker.flare import left_in_order
from tutti_worker.launched_copy import localize_client_config
from tutti_worker.messages import ENVIRONMENT, Ended, Start, Started, Stop, receive, send


class ForkedJob(JobHandleSpec):  # type: ignore[misc]
    """A job process as NVFLARE sees it.

    With ``on_death`` a death that NVFLARE did not ask for is never reported to it: it would abort the job at every
    site. Exit status 0 is a death too unless the process came to its own end, as ``in_order`` tells. ``wait`` then
    waits for ever, ``on_death`` is called instead, and the supervisor, which hears of the death as well, takes this
    whole process down if it is still there.
    """

    def __init__(
        self, stop: Callable[[], None], on_death: Callable[[], None] | None, in_order: Callable[[], bool] = lambda: True
    ) -> None:
        super().__init__()
        self._stop, self._on_death, self._in_order = stop, on_death, in_order
        self._status: int | None = None
        self._asked_to_end = False
        self._settled = threading.Event()

    def settle(self, status: int) -> None:
        """The process has ended."""
        self._status = status
        if self._asked_to_end or self._on_death is None or (status == 0 and self._in_order()):
            self._settled.set()
        else:
            threading.Thread(target=self._on_death, name="job-death", daemon=True).start()

    def terminate(self) -> None:
        """End the process and what it started; silent when it is gone already."""
        self._asked_to_end = True
        if self._status is not None:
            self._settled.set()
            return
        self._stop()

    def poll(self) -> Any:
        """NVFLARE's code for the exit status; UNKNOWN while the process runs."""
        if not self._settled.is_set():
            return JobReturnCode.UNKNOWN
        return JOB_RETURN_CODE_MAPPING.get(self._status, JobReturnCode.EXECUTION_ERROR)

    def wait(self) -> None:
        """Wait for the end."""
        self._settled.wait()


class Forker:
    """This process's line to the warm process, read by a thread of its own."""

    def __init__(self, descriptor: int) -> None:
        self._end = socket.socket(fileno=descriptor)
        self._asked = threading.Lock()
        self._changed = threading.Condition()
        self._started: set[str] = set()
        self._jobs: dict[str, ForkedJob] = {}
        threading.Thread(target=self._listen, name="forker", daemon=True).start()

    def fork(self, start: Start, on_death: Callable[[], None] | None = None) -> ForkedJob:
        """Run ``start`` in a fork of the warm process."""
        with self._asked, self._changed:
            send(self._end, start)
            if not self._changed.wait_for(lambda: start.id in self._started, timeout=60):
                raise RuntimeError("the warm process did not start the job within 60 s")
            job = ForkedJob(lambda: send(self._end, Stop(start.id)), on_death, lambda: left_in_order(start.env))
            self._jobs[start.id] = job
            return job

    def _listen(self) -> None:
        while (message := receive(self._end)) is not None:
            with self._changed:
                if isinstance(message, Started):
                    self._started.add(message.id)
                    self._changed.notify_all()
                elif isinstance(message, Ended):
                    self._changed.wait_for(lambda m=message: m.id in self._jobs, timeout=5)  # type: ignore[misc]
                    self._jobs[message.id].settle(message.status)


def job_start(module_and_arguments: list[str], job_meta: dict[str, Any], fl_ctx: FLContext) -> Start:
    """What the warm process shall fork for this job."""
    workspace: Workspace = fl_ctx.get_prop(FLContextKey.WORKSPACE_OBJECT)
    custom = workspace.get_app_custom_dir(job_meta.get(JobConstants.JOB_ID))
    secrets = get_credential_env(fl_ctx.get_prop(FLContextKey.JOB_PROCESS_ARGS) or {})
    # The job is forked from the warm process, not from this one: hand this one's environment and path on.
    path = [*os.environ.get("PYTHONPATH", "").split(os.pathsep), custom]
    env = {**os.environ, **secrets, "PYTHONPATH": os.pathsep.join(filter(None, path))}
    at = module_and_arguments.index("-m")
    argv = module_and_arguments[at + 1 :]
    return Start(uuid.uuid4().hex, "tutti_worker.flare:job", argv, env, [*filter(None, path)], "job")


class ServerForkLauncher(ServerProcessJobLauncher):  # type: ignore[misc]
    """Forks the server's job process."""

    def __init__(self) -> None:
        super().__init__()
        self._forker: Forker | None = None

    def launch_job(self, job_meta: dict[str, Any], fl_ctx: FLContext) -> ForkedJob:
        """Start the job; NVFLARE hears of every end, whatever it was."""
        self._forker = self._forker or Forker(int(os.environ[ENVIRONMENT]))
        start = job_start(shlex.split(self.get_command(job_meta, fl_ctx)), job_meta, fl_ctx)
        return self._forker.fork(start)


class ClientForkLauncher(ClientProcessJobLauncher):  # type: ignore[misc]
    """Points the deployed config at this worker's own folders, then forks the client's job process."""

    def __init__(self) -> None:
        super().__init__()
        self._forker: Forker | None = None

    def launch_job(self, job_meta: dict[str, Any], fl_ctx: FLContext) -> ForkedJob:
        """Start the job; NVFLARE hears only of ends it asked for or that were in order."""
        self._forker = self._forker or Forker(int(os.environ[ENVIRONMENT]))
        workspace: Workspace = fl_ctx.get_prop(FLContextKey.WORKSPACE_OBJECT)
        config = Path(workspace.get_app_config_dir(job_meta.get(JobConstants.JOB_ID))) / "config_fed_client.json"
        localize_client_config(config, Path(os.environ["TUTTI_DATA_ROOT"]), Path(os.environ["TUTTI_OUT_DIR"]))
        start = job_start(shlex.split(self.get_command(job_meta, fl_ctx)), job_meta, fl_ctx)
        site = fl_ctx.get_prop(FLContextKey.SITE_OBJ)
        return self._forker.fork(start, lambda: leave_quietly(site))


def leave_quietly(site: Any) -> None:
    """Have the server count this client as gone now, not after its heartbeat timeout, and end this process."""
    try:
        site.close()
    finally:
        os._exit(0)

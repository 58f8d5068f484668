"""The warm process: torch and NVFLARE imported once, every other process forked from it.

It never has a thread of its own, so a fork is safe and PR_SET_PDEATHSIG follows it. It leads a session: when its
supervisor is gone, however it went, everything in that session is killed.
"""

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field

from tutti_worker.death import die_with_parent, end_session
from tutti_worker.forked import Outputs, point_output_to, run_entry, settle_in
from tutti_worker.messages import Ended, Message, Preload, Start, Started, Stop, pair, receive, send

READY = "ready"
_PRELOADED = (
    "numpy",
    "torch",
    "safetensors.torch",
    "nvflare.app_common.workflows.scatter_and_gather",
    "nvflare.app_common.aggregators.intime_accumulate_model_aggregator",
    "nvflare.app_common.shareablegenerators.full_model_shareable_generator",
    "nvflare.private.fed.app.server.server_train",
    "nvflare.private.fed.app.server.runner_process",
    "nvflare.private.fed.app.client.client_train",
    "nvflare.private.fed.app.client.worker_process",
    "nvflare.lighter.provisioner",
    "nvflare.lighter.impl.static_file",
)
FOR_TRAINING = ("torch._dynamo", "torch.utils.data", "numpy.random")
"""What torch imports at the first optimizer; two seconds that can pass while a client joins."""


@dataclass
class _Child:
    start: Start
    asker: socket.socket
    channel: socket.socket
    asked: bool = False


@dataclass
class WarmProcess:
    """Serves Start messages of the supervisor and of the processes it forked, until the supervisor's end closes."""

    control: socket.socket
    outputs: Outputs
    children: dict[int, _Child] = field(default_factory=dict)
    wanted: list[str] = field(default_factory=list)

    def serve(self) -> None:
        """Work until the supervisor is gone; then end the session."""
        wake = _wake_on_child_exit()
        _send_ready(self.control)
        while True:
            ends: list[socket.socket | int] = [wake, self.control, *(child.channel for child in self.children.values())]
            ready, _, _ = select.select(ends, [], [], 0 if self.wanted else None)
            if not ready and self.wanted:
                _import_quietly(self.wanted.pop(0))
            if wake in ready:
                os.read(wake, 4096)
            self._reap()
            for end in ready:
                if isinstance(end, socket.socket) and end.fileno() >= 0 and not self._serve(end):
                    return

    def _serve(self, end: socket.socket) -> bool:
        message = receive(end)
        if message is None and end is self.control:
            return False
        if isinstance(message, Start):
            self._fork(message, end)
        elif isinstance(message, Stop):
            self._stop(message.id)
        elif isinstance(message, Preload):
            self.wanted.extend(message.modules)
        elif message is None:
            self._forget(end)
        return True

    def _fork(self, start: Start, asker: socket.socket) -> None:
        here, there = pair()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become(start, there, parent)
        there.close()
        self.children[pid] = _Child(start, asker, here)
        self._tell(asker, Started(start.id, pid, start.title))

    def _stop(self, wanted: str) -> None:
        for pid, child in self.children.items():
            if child.start.id == wanted:
                child.asked = True
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
                    os.killpg(pid, signal.SIGTERM)

    def _become(self, start: Start, channel: socket.socket, parent: int) -> None:
        status = 1
        try:
            die_with_parent(parent)
            self.control.close()
            for child in self.children.values():
                child.channel.close()
            settle_in(start, channel, self.outputs)
            status = run_entry(start.entry, start.argv)
        except SystemExit as exit_:
            status = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
        except BaseException:  # noqa: BLE001 - the door of the forked process
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)

    def _reap(self) -> None:
        while self.children:
            try:
                pid, raw = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            child = self.children.pop(pid, None)
            if child is not None:
                status = os.waitstatus_to_exitcode(raw)
                self._tell(child.asker, Ended(child.start.id, pid, child.start.title, status, child.asked))
                child.channel.close()

    def _tell(self, asker: socket.socket, message: Message) -> None:
        for end in {self.control, asker}:
            if end.fileno() >= 0:
                send(end, message)

    def _forget(self, end: socket.socket) -> None:
        for child in self.children.values():
            if child.channel is end:
                child.channel, other = pair()
                other.detach()
        end.close()


def preload(more: Sequence[str] = ()) -> None:
    """Import what every job needs, so that no fork has to."""
    # CUDA must not be initialised here: a fork could not use it. This makes torch ask the driver another way.
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    # Without this numpy starts one thread per core while it is imported; a forked job sets its own number.
    alone = "OPENBLAS_NUM_THREADS" not in os.environ
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for module in (*_PRELOADED, *more):
        importlib.import_module(module)
    if alone:
        os.environ.pop("OPENBLAS_NUM_THREADS", None)
    gc.collect()
    gc.freeze()


def become_warm(control: socket.socket, outputs: Outputs, parent: int) -> None:
    """The whole life of a warm process that its supervisor forked or started; never returns."""
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        die_with_parent(parent, signal.SIGTERM)
        point_output_to(outputs.nvflare)
        preload()
    except BaseException:  # noqa: BLE001 - the door of the warm process
        traceback.print_exc()
        os._exit(1)
    live_warm(control, outputs)


def live_warm(control: socket.socket, outputs: Outputs) -> None:
    """Serve in a session of its own until the supervisor's end closes, then end that session; never returns."""
    try:
        os.setsid()
        # From here on the closed socket says that the supervisor is gone: there is a session to end then.
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, signal.SIG_IGN)
        point_output_to(outputs.nvflare)
        WarmProcess(control, outputs).serve()
    except BaseException:  # noqa: BLE001 - the door of the warm process
        traceback.print_exc()
    finally:
        end_session(os.getpid())
        os._exit(0)


def main(argv: Sequence[str]) -> None:
    """A warm process in a fresh interpreter: the supervisor's pid and three inherited descriptors."""
    parent, control, nvflare, job = argv
    outputs = Outputs(int(nvflare), int(job))
    become_warm(socket.socket(fileno=int(control)), outputs, int(parent))


def _import_quietly(module: str) -> None:
    # Without it a forked process imports the module itself, later; whatever is wrong with it shows there.
    with contextlib.suppress(Exception):
        importlib.import_module(module)


def _send_ready(control: socket.socket) -> None:
    send(control, Started(READY, os.getpid(), READY))


def _wake_on_child_exit() -> int:
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    return read


if __name__ == "__main__":
    main(sys.argv[1:])

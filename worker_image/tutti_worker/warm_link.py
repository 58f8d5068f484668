"""The supervisor's end of the warm process."""

import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from tutti_worker.death import end_session
from tutti_worker.forked import Outputs
from tutti_worker.messages import Ended, Message, Preload, Start, Started, pair, receive, send
from tutti_worker.nursery import ask
from tutti_worker.warm import READY, become_warm


class WarmLost(Exception):
    """The warm process is gone, and with it all it forked."""


class WarmLink:
    """Starts processes through the warm one and hears of their ends.

    The callbacks of ``listen`` run in a thread of the link; they hear of what NVFLARE's launchers started as well.
    """

    def __init__(self, pid: int, control: socket.socket, child: subprocess.Popen[bytes] | None = None) -> None:
        self.pid = pid
        self._control, self._child = control, child
        self._started: dict[str, queue.Queue[int]] = {}
        self._ended: dict[str, queue.Queue[int]] = {}
        self._lost = threading.Event()
        self._ready = threading.Event()
        self._on_change: Callable[[Started | Ended], None] = lambda _: None
        self._on_lost: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._listen, name="warm-link", daemon=True)

    def listen(self, on_change: Callable[[Started | Ended], None], on_lost: Callable[[], None]) -> None:
        """Begin to hear of starts and ends, and of the warm process's own death; call once, when threads may exist."""
        self._on_change, self._on_lost = on_change, on_lost
        self._thread.start()

    def start(self, what: Start, timeout_s: float = 120.0) -> int:
        """Fork and run; returns the pid. Raises WarmLost."""
        self._started[what.id] = queue.Queue()
        self._ended[what.id] = queue.Queue()
        send(self._control, what)
        return self._await(self._started[what.id], timeout_s)

    def wait(self, what: Start, timeout_s: float) -> int:
        """The exit status of a process started here. Raises WarmLost, TimeoutError."""
        return self._await(self._ended[what.id], timeout_s)

    def preload(self, *modules: str) -> None:
        """Have modules imported while the warm process is idle."""
        send(self._control, Preload(list(modules)))

    def close(self) -> None:
        """Kill everything that was started and the warm process itself; may be called twice."""
        self._lost.set()
        self._control.close()
        end_session(self.pid)
        try:
            if self._child is not None:
                self._child.wait()
            else:
                os.kill(self.pid, 9)
                os.waitpid(self.pid, 0)
        except (ChildProcessError, ProcessLookupError):
            return

    def _await(self, box: "queue.Queue[int]", timeout_s: float) -> int:
        for _ in range(max(1, int(timeout_s / 0.25))):
            try:
                return box.get(timeout=0.25)
            except queue.Empty:
                if self._lost.is_set():
                    raise WarmLost from None
        raise TimeoutError

    def _listen(self) -> None:
        while (message := self._next()) is not None:
            if isinstance(message, Started):
                if message.id == READY:
                    self._ready.set()
                if message.id in self._started:
                    self._started[message.id].put(message.pid)
                self._on_change(message)
            elif isinstance(message, Ended):
                if message.id in self._ended:
                    self._ended[message.id].put(message.status)
                self._on_change(message)
        if not self._lost.is_set():
            self._lost.set()
            self._on_lost()

    def _next(self) -> Message | None:
        try:
            return receive(self._control)
        except OSError:
            return None


def borrow_warm(nursery: Path, outputs: Outputs) -> WarmLink | None:
    """A warm process forked from this machine's nursery; None when there is no nursery."""
    ours, theirs = pair()
    try:
        pid = ask(nursery, theirs, outputs, os.environ)
    except OSError:
        ours.close()
        return None
    finally:
        theirs.close()
    return WarmLink(pid, ours)


def fork_warm(outputs: Outputs, others: list[int]) -> WarmLink:
    """Fork the warm process; call it from the main thread before any other thread exists.

    ``others`` are descriptors the warm process must not keep open.
    """
    ours, theirs = pair()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        ours.close()
        for descriptor in others:
            os.close(descriptor)
        become_warm(theirs, outputs, parent)
    theirs.close()
    return WarmLink(pid, ours)


def spawn_warm(outputs: Outputs, path: list[str], environ: dict[str, str]) -> WarmLink:
    """A warm process in a fresh interpreter with ``path`` in front of its sys.path, for an overlay that shadows
    what is imported here; call it from the main thread."""
    ours, theirs = pair()
    inherited = (theirs.fileno(), outputs.nvflare, outputs.job)
    child = subprocess.Popen(
        [sys.executable, "-m", "tutti_worker.warm", str(os.getpid()), *map(str, inherited)],
        pass_fds=inherited,
        env={**environ, "PYTHONPATH": os.pathsep.join([*path, *project_path()])},
        stdin=subprocess.DEVNULL,
    )
    theirs.close()
    return WarmLink(child.pid, ours, child)


def project_path() -> list[str]:
    """The folders that hold tutti_worker and chalicelib."""
    from chalicelib import contracts

    here = Path(__file__).resolve().parents[1]
    return [str(here), str(Path(contracts.__file__).resolve().parents[2])]

"""The workers' nursery: one process that has torch and NVFLARE imported and lends forks, kept only while workers run."""

import hashlib
import logging
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE

from local_stack.child_process import end

_LONGEST_SOCKET_PATH = 100
_IDLE_S = 15.0
_OPENS_WITHIN_S = 5.0
_LOOK_EVERY_S = 2.0
_LEAVES_WITHIN_S = 5.0


class Nursery:
    """Starts ``command`` with a socket's path when a worker is about to start, and ends it soon after the last has left: it holds
    some 150 MB, which belong to nobody while no job is there.

    Without it a worker imports everything by itself, so nothing here may fail a job.
    """

    def __init__(
        self,
        folder: Path,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        busy: Callable[[], bool],
        idle_s: float = _IDLE_S,
    ) -> None:
        self.socket = _socket_path(folder)
        self._log_file = folder / "nursery.log"
        self._command = (*command, str(self.socket))
        self._temporary = folder / "nursery.tmp"  # torch makes a cache where temporary files go
        self._environment = {**environment, "TMPDIR": str(self._temporary)}
        self._busy = busy
        self._idle_s = idle_s
        self._wanted = threading.Event()
        self._closed = threading.Event()
        self._opened = threading.Event()
        # The nursery ends with the thread that started it, so one thread starts it and lasts as long as the stack.
        self._thread = threading.Thread(target=self._keep, name="nursery", daemon=True)
        self._log = logging.getLogger(__name__)

    def start(self) -> None:
        """Be ready to have a nursery; none is started yet."""
        self._thread.start()

    def want(self) -> Path:
        """Have the nursery, started if need be; its socket. Returns within 5 s whether or not it is there."""
        self._wanted.set()
        self._opened.wait(_OPENS_WITHIN_S)
        return self.socket

    def close(self) -> None:
        """End it; what it has lent runs on."""
        self._closed.set()
        self._wanted.set()
        if self._thread.is_alive():
            self._thread.join(2 * _LEAVES_WITHIN_S)
        if self.socket.parent != self._log_file.parent:
            shutil.rmtree(self.socket.parent, ignore_errors=True)

    def _keep(self) -> None:
        while not self._closed.is_set():
            self._wanted.wait()
            self._wanted.clear()
            if self._closed.is_set():
                return
            try:
                self._run_until_idle()
            except OSError:
                self._log.exception("no nursery: workers start a little slower")
                self._opened.set()  # whoever waits need not
            finally:
                self._opened.clear()

    def _run_until_idle(self) -> None:
        self.socket.unlink(missing_ok=True)
        self._temporary.mkdir(exist_ok=True)
        with self._log_file.open("ab") as log:
            process = subprocess.Popen(
                self._command, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        try:
            self._wait_until_open(process)
            self._wait_until_idle(process)
        finally:
            end(process, _LEAVES_WITHIN_S)
            self.socket.unlink(missing_ok=True)
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _wait_until_open(self, process: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + _OPENS_WITHIN_S
        while not self.socket.exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        self._opened.set()

    def _wait_until_idle(self, process: subprocess.Popen[bytes]) -> None:
        idle_since = time.monotonic()
        while process.poll() is None and not self._closed.wait(_LOOK_EVERY_S):
            if self._busy() or self._wanted.is_set():
                self._wanted.clear()
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since > self._idle_s:
                return


def _socket_path(folder: Path) -> Path:
    """In the folder, or in a private one of this name for every stack of the folder, when that would be too long for a socket."""
    wanted = folder / "nursery.sock"
    if len(str(wanted)) <= _LONGEST_SOCKET_PATH:
        return wanted
    short = Path(tempfile.gettempdir()) / f"tutti-{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"
    with suppress(OSError):
        short.mkdir(mode=0o700, exist_ok=True)
        if short.lstat().st_uid == os.getuid() and S_IMODE(short.lstat().st_mode) == 0o700:
            return short / wanted.name
    return wanted  # no nursery then

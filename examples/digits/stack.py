"""The local stack as a child process."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self


class StackError(Exception):
    """The stack did not come up, or did not leave."""


@dataclass(frozen=True)
class Address:
    """Where the stack is, and the one-time code to sign in with."""

    url: str
    code: str


class Stack:
    """A stack with data, ports and a session of its own; use it in a ``with``: leaving stops it and all it started."""

    def __init__(self, data: Path, log: Path, *, up_within_s: float = 120, down_within_s: float = 60) -> None:
        self._data, self._log, self._ready = data, log, data / "ready.json"
        self._up_within_s, self._down_within_s = up_within_s, down_within_s
        self._process: subprocess.Popen[bytes] | None = None
        self.address = Address("", "")
        self.seconds = 0.0

    def __enter__(self) -> Self:
        began = time.monotonic()
        self._data.mkdir(parents=True, exist_ok=True)
        self._log.parent.mkdir(parents=True, exist_ok=True)
        up = [sys.executable, "-m", "local_stack", "up", "--ephemeral", "--port", "0"]
        command = [*up, "--data", str(self._data), "--ready", str(self._ready)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            self.address = self._wait(self._process, began + self._up_within_s)
        except BaseException:
            self._stop(self._process)
            raise
        self.seconds = time.monotonic() - began
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process is not None:
            self._stop(self._process)

    def _wait(self, process: subprocess.Popen[bytes], until: float) -> Address:
        while not self._ready.exists():
            if process.poll() is not None:
                raise StackError(f"the stack ended with status {process.returncode}:\n{self._last_lines()}")
            if time.monotonic() > until:
                raise StackError(f"the stack was not up within {self._up_within_s:.0f} s:\n{self._last_lines()}")
            time.sleep(0.1)
        ready = json.loads(self._ready.read_text())
        return Address(ready["url"], ready["code"])

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        process.terminate()
        try:
            process.wait(self._down_within_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise StackError(
                f"the stack did not stop within {self._down_within_s:.0f} s and was killed; see {self._log}"
            ) from None

    def _last_lines(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()[-15:]
        return "\n".join(f"  | {line}" for line in lines)

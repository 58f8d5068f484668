"""A child process that a killed parent may have left behind: known by its id and start time together."""

import json
import subprocess
from pathlib import Path

import psutil

from local_stack.private_files import write_private
from local_stack.process_start import is_same, start_of


class ChildRecord:
    """The file that remembers one child. Process ids are reused, so the start time is compared as well."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def write(self, pid: int) -> None:
        """Remember this child; silent when it has ended already."""
        try:
            started = start_of(pid)
        except psutil.NoSuchProcess:
            return
        write_private(self._file, json.dumps({"pid": pid, "started": started}))

    def forget(self) -> None:
        """Remember no child."""
        self._file.unlink(missing_ok=True)

    def end_left_over(self, grace_s: float) -> bool:
        """End the remembered child if it still lives and is the same; whether there was one."""
        process = self._left_over()
        self.forget()
        if process is None:
            return False
        try:
            process.terminate()
            process.wait(grace_s)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait()
        except psutil.NoSuchProcess:
            return False
        return True

    def _left_over(self) -> psutil.Process | None:
        if not self._file.exists():
            return None
        known = json.loads(self._file.read_text())
        try:
            process = psutil.Process(known["pid"])
        except psutil.NoSuchProcess:
            return None
        return process if is_same(known["pid"], known["started"]) else None


def end(process: subprocess.Popen[bytes], grace_s: float) -> None:
    """Ask the child to end, kill it after the grace, and reap it."""
    process.terminate()
    try:
        process.wait(grace_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

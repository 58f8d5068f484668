"""pip in a process group of its own, of which nothing is left when the worker stops waiting for it."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence

_COMMAND = ("-m", "pip", "install", "--no-input", "--no-warn-conflicts", "--progress-bar", "off")


class TookTooLong(Exception):
    """The installer had not ended in time and was killed."""


def run_pip(arguments: Sequence[str], timeout_s: float) -> tuple[int, str]:
    """The exit status of ``pip install`` and all it printed.

    Raises TookTooLong. Whatever ends the wait, a signal too, ends pip and every compiler it has started.
    """
    process = subprocess.Popen(
        [sys.executable, *_COMMAND, "--disable-pip-version-check", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0,
    )
    with process:
        try:
            said, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _end_group(process.pid)
            raise TookTooLong from None
        except BaseException:
            _end_group(process.pid)
            raise
    return process.returncode, said


def _end_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)

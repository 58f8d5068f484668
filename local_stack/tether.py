"""Run as a file, ``tether.py PARENT PROGRAM ARGUMENTS…``: become the program, and end with the process PARENT.

It imports nothing of the project and runs before the program in the very same process, so the process id stays.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def become(parent: int, command: list[str]) -> None:
    """Replace this process by the command; SIGTERM reaches it when the thread that started it ends (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it died before the line above
            sys.exit(1)
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    become(int(sys.argv[1]), sys.argv[2:])

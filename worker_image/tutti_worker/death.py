"""Processes that die with the one that started them."""

import ctypes
import os
import signal
from collections.abc import Iterator
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int, signum: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send ``signum`` when the thread that forked this process ends; at once when it has ended already.

    The forking thread counts, not the process: fork from the main thread.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signum), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signum)


def session_members(session: int) -> Iterator[int]:
    """Every process of a session but this one."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid() and _session_of(folder) == session:
            yield int(folder.name)


def end_session(session: int) -> None:
    """Kill whatever is left in a session, children of killed processes included."""
    for _ in range(3):
        members = list(session_members(session))
        if not members:
            return
        for pid in members:
            _kill(pid)


def _session_of(folder: Path) -> int:
    try:
        fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return -1
    return int(fields[3]) if len(fields) > 3 and fields[0] != "Z" else -1


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return

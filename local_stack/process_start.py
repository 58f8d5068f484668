"""When a process began, by a clock that nobody sets: with its number that tells a process from every later one."""

import os
from pathlib import Path

import psutil

_SAME_S = 0.02
_STARTTIME = 19
"""The 22nd field of proc(5)'s stat, counted after the name in brackets."""


def start_of(pid: int) -> float:
    """Seconds from the machine's boot to the start of this process; no such process: psutil.NoSuchProcess.

    psutil's start time is told on the wall clock: when that is set, or a virtual machine goes on after a pause, it moves, and
    every process would seem to be another.
    """
    process = psutil.Process(pid)
    if not Path("/proc/self/stat").exists():
        return float(process.create_time())
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        raise psutil.NoSuchProcess(pid) from None
    return int(fields[_STARTTIME]) / os.sysconf("SC_CLK_TCK")


def is_same(pid: int, started: float) -> bool:
    """Whether the process of this number is the one that began then; a zombie is, one that is gone is not."""
    try:
        return abs(start_of(pid) - started) < _SAME_S
    except psutil.NoSuchProcess:
        return False

"""All processes of one worker, found by their session or by the handle in the environment they started with."""

import os
from collections.abc import Iterable

import psutil

from local_stack.process_start import is_same

MARKER = "TUTTI_HANDLE"


def members(handle: str, *, session: int | None) -> list[psutil.Process]:
    """The living processes of this session (when given) or with this handle; never the caller itself, never a zombie.

    Give a session only while it is known to be the worker's: the kernel hands its number out again once it is empty.
    """
    return [p for p in psutil.process_iter() if p.pid != os.getpid() and _belongs(p, handle, session) and not _is_zombie(p)]


def is_alive(pid: int, started: float) -> bool:
    """True while the process of this number that began then (``process_start.start_of``) runs; a zombie does not."""
    try:
        return is_same(pid, started) and not _is_zombie(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return False


def kill(processes: Iterable[psutil.Process]) -> None:
    """SIGKILL to each; silent for those that are gone."""
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue


def _belongs(process: psutil.Process, handle: str, session: int | None) -> bool:
    try:
        return (session is not None and os.getsid(process.pid) == session) or process.environ().get(MARKER) == handle
    except (psutil.Error, OSError):
        return False  # gone meanwhile, or another user's


def _is_zombie(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True

"""Which process runs a stack: a file with its pid and start time, so that a reused pid is never taken for it."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import psutil

from local_stack.private_files import write_private


@dataclass(frozen=True)
class Running:
    """One stack at work."""

    pid: int
    started: float
    url: str
    inner_url: str
    s3_url: str


def note(file: Path, *, url: str, inner_url: str, s3_url: str) -> None:
    """Write down that this process runs the stack."""
    process = psutil.Process(os.getpid())
    document = {
        "pid": process.pid,
        "started": process.create_time(),
        "url": url,
        "inner_url": inner_url,
        "s3_url": s3_url,
    }
    write_private(file, json.dumps(document, indent=1))


def read(file: Path) -> Running | None:
    """The stack that runs now; None when none does, whatever an earlier one left behind."""
    try:
        found = Running(**json.loads(file.read_text(encoding="utf-8")))
        process = psutil.Process(found.pid)
        same = abs(process.create_time() - found.started) < 1 and process.status() != psutil.STATUS_ZOMBIE
    except (OSError, ValueError, TypeError, psutil.NoSuchProcess):
        return None
    return found if same else None


def forget(file: Path) -> None:
    """Nobody runs the stack any more."""
    file.unlink(missing_ok=True)

"""Which process runs a stack: a file with its pid and start time, so that a reused pid is never taken for it."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from local_stack.private_files import write_private
from local_stack.process_start import start_of
from local_stack.process_tree import is_alive


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
    document = {
        "pid": os.getpid(),
        "started": start_of(os.getpid()),
        "url": url,
        "inner_url": inner_url,
        "s3_url": s3_url,
    }
    write_private(file, json.dumps(document, indent=1))


def read(file: Path) -> Running | None:
    """The stack that runs now; None when none does, whatever an earlier one left behind."""
    try:
        found = Running(**json.loads(file.read_text(encoding="utf-8")))
        return found if is_alive(found.pid, found.started) else None
    except (OSError, ValueError, TypeError):
        return None


def forget(file: Path) -> None:
    """Nobody runs the stack any more."""
    file.unlink(missing_ok=True)

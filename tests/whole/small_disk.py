"""A disk that is soon full: a tmpfs, which only root may mount."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MIB = 1 << 20


@contextmanager
def small_disk(at: Path, megabytes: int) -> Iterator[None]:
    """A disk of this size mounted there; the test is skipped where that is not allowed."""
    at.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(at)], check=False, capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


@contextmanager
def filled(at: Path, *, left: int) -> Iterator[None]:
    """The disk filled up to so many free bytes, and emptied again."""
    ballast = at / "ballast"
    free = os.statvfs(at).f_bavail * os.statvfs(at).f_frsize
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, free - left))
    try:
        yield
    finally:
        ballast.unlink()

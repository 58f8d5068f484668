"""The disk under a folder of the stack: when it is full, and what a user is told then."""

import shutil
from pathlib import Path

from chalicelib.domain.errors import StoreUnavailable

RESERVE = 100 * 2**20
"""Below this the object store takes nothing more, so that the records, which say how every job ended, still have room."""
_NEAR = RESERVE + 32 * 2**20


def is_full(folder: Path) -> bool:
    """Whether so little is left that the object store refuses to write."""
    return shutil.disk_usage(folder).free < _NEAR


def full_disk(folder: Path) -> StoreUnavailable:
    """The error for a write that a full disk refused."""
    free = shutil.disk_usage(folder).free >> 20
    return StoreUnavailable(
        f"the disk that holds {folder} is full ({free} MB free), so nothing can be stored",
        hint="Free space on it, for example by deleting old outputs and models in your bucket; then try again in a minute.",
    )

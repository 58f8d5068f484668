"""Which of the files that user code has left are kept."""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """How much of a folder is kept."""

    files: int = 10_000
    bytes: int = 50 << 30


@dataclass(frozen=True)
class Outgoing:
    """One file to upload by its name."""

    path: Path
    name: str
    size: int


def choose(folder: Path, limits: Limits, on_left_out: Callable[[str], None]) -> Iterator[Outgoing]:
    """The regular files below a folder that can be kept, in order, up to the limits.

    ``on_left_out`` hears, in words, of each file with a name that no object can have, and once of those over the limits.
    """
    files = total = over = over_bytes = 0
    first = ""
    for path, size in regular_files(folder):
        name = path.relative_to(folder).as_posix()
        if fault := _fault(name):
            on_left_out(f"{shown(name)} was left out: {fault}")
        elif files >= limits.files or total + size > limits.bytes:
            first = first or name
            over, over_bytes = over + 1, over_bytes + size
        else:
            files, total = files + 1, total + size
            yield Outgoing(path, name, size)
    if over:
        on_left_out(
            f"{over} files ({over_bytes} bytes), {first} the first of them, were left out: "
            f"{limits.files} files and {limits.bytes >> 30} GB of outputs are kept."
        )


def regular_files(folder: Path) -> Iterator[tuple[Path, int]]:
    """Every regular file below a folder with its size, in order; links are neither listed nor followed."""
    if folder.is_symlink():
        return
    for at, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(at, name)
            try:
                status = path.lstat()
            except OSError:
                continue  # gone meanwhile: a temporary file of the user's
            if stat.S_ISREG(status.st_mode):
                yield path, status.st_size


def shown(name: str) -> str:
    """A file name as it can stand in a sentence."""
    return name.encode("utf-8", "backslashreplace").decode().encode("unicode_escape").decode()[:200]


def _fault(name: str) -> str:
    try:
        packed = name.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in name):
        return "its name holds a control character"
    if "\\" in name:
        return "its name holds a backslash"
    return "its path is longer than 800 bytes" if len(packed) > 800 else ""

"""The built console as files: what a first visit loads, and what comes only with a page that needs it."""

import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path

from local_stack.console_build import BUILT

FOLDER = Path(os.environ.get("TUTTI_CONSOLE") or BUILT)
_LOADED = re.compile(r'(?:src|href)="\./([^"]+)"')
_IMPORTED = re.compile(r'(?:from|import)\s*"\./([\w.-]+\.js)"')


def packed(path: Path) -> int:
    """The size over the wire."""
    return len(gzip.compress(path.read_bytes(), 9))


def page() -> str:
    """The text of ``index.html``."""
    return (FOLDER / "index.html").read_text()


def first_load() -> list[Path]:
    """Every file that the page itself loads, with the scripts those import in their first lines."""
    found: list[Path] = []
    waiting = [FOLDER / name for name in _LOADED.findall(page())]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.append(path)
            waiting += _imports(path)
    return found


def _imports(path: Path) -> Iterator[Path]:
    if path.suffix == ".js":
        yield from (path.parent / name for name in _IMPORTED.findall(path.read_text()))


def assets(pattern: str) -> list[Path]:
    """The built files of this pattern."""
    return sorted((FOLDER / "assets").glob(pattern))

"""Where in the user's code a process is, asked while it hangs or told when it crashes.

The training process keeps a file for it: Python's faulthandler writes its stacks there, on SIGUSR2 and on a fatal signal, also
while the interpreter itself is stuck in native code.
"""

import faulthandler
import os
import re
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

WHEREABOUTS = "TUTTI_WHEREABOUTS"
"""Names the file into which the stacks are written."""
_ASK = signal.SIGUSR2
_ANSWERS_WITHIN_S = 2.0
_GENERATED = ("custom_client_executor.py", "custom_persistor.py")
_MOST_LINES = 40
_FRAME = re.compile(r'^  File "(?P<path>.+)", line (?P<line>\d+) in (?P<function>.+)$')
_IN_SCRIPTS = re.compile(r"/custom/(?P<file>[^\"]+)$")


@dataclass(frozen=True)
class Place:
    """The innermost line of the user's scripts in a stack."""

    file: str
    line: int
    function: str
    stack: tuple[str, ...]
    """From the innermost call to the outermost one in the user's scripts."""

    def __str__(self) -> str:
        return f"{self.function} in {self.file}, line {self.line}"


def keep_stacks(environ: Mapping[str, str]) -> None:
    """Have this process write its stacks from now on; nothing where no file is named. The file stays open for good."""
    named = environ.get(WHEREABOUTS)
    if not named:
        return
    file = os.open(named, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    faulthandler.enable(file, all_threads=False)
    faulthandler.register(_ASK, file, all_threads=True)


def ask(pid: int, file: Path) -> Place | None:
    """Where the process is in the user's scripts right now; None when it cannot tell, or is nowhere in them.

    A process that does not listen for the question is not asked: the signal would end it.
    """
    if not _listens(pid):
        return None
    start = _size(file)
    os.kill(pid, _ASK)
    until, seen = time.monotonic() + _ANSWERS_WITHIN_S, -1
    while time.monotonic() < until and (seen < start or seen != _size(file)):  # until it has come and grows no more
        seen = _size(file) if _size(file) > start else -1
        time.sleep(0.1)
    return read(file, start)


def read(file: Path, start: int = 0) -> Place | None:
    """The place that the file tells, from a byte offset on."""
    try:
        text = file.read_bytes()[start:].decode(errors="replace")
    except OSError:
        return None
    for stack in re.split(r"\n(?=Thread |Current thread )|\n\n", text):
        place = _place(stack.splitlines())
        if place is not None:
            return place
    return None


def _place(stack: list[str]) -> Place | None:
    frames = [(at, found) for at, line in enumerate(stack) if (found := _FRAME.match(line))]
    own = [(at, found, script) for at, found in frames if (script := _IN_SCRIPTS.search(found["path"])) and _is_users(script)]
    if not own:
        return None
    _, found, script = own[0]
    shown = [re.sub(r'"[^"]*/custom/', '"scripts/', line)[:500] for line in stack[: own[-1][0] + 1]]
    return Place(f"scripts/{script['file']}", int(found["line"]), found["function"], tuple(shown[-_MOST_LINES:]))


def _is_users(script: re.Match[str]) -> bool:
    return script["file"] not in _GENERATED


def _listens(pid: int) -> bool:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    caught = next((int(line.split()[1], 16) for line in lines if line.startswith("SigCgt:")), 0)
    return bool(caught >> (_ASK - 1) & 1)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0

"""Whether memory was what killed a process."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tutti_worker.death import session_members

_SAID = re.compile(
    r"MemoryError|std::bad_alloc|DefaultCPUAllocator: (not enough|can't allocate) memory|CUDA out of memory|"
    r"OutOfMemoryError|Cannot allocate memory"
)


@dataclass(frozen=True)
class OomCounter:
    """The kernel's count of out-of-memory kills in this container, as it was when the worker started."""

    at_start: int

    def has_grown(self) -> bool:
        """True when the kernel has killed for memory since."""
        return oom_kills() > self.at_start


def oom_kills() -> int:
    """Out-of-memory kills the kernel counts for this process's control group; 0 where it does not say."""
    for place, key in _counters():
        try:
            for line in place.read_text().splitlines():
                name, _, value = line.partition(" ")
                if name == key and value.strip().isdigit():
                    return int(value)
        except OSError:
            continue
    return 0


def said_so(log: Sequence[str]) -> bool:
    """True when the last lines of a log name missing memory."""
    return any(_SAID.search(line) for line in log[-30:])


def held_bytes(session: int) -> int:
    """Memory the processes of a session hold; a page shared by several of them counts once in all."""
    return sum(_proportional(pid) for pid in session_members(session))


def _proportional(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except (OSError, IndexError, ValueError):
        return _unshared(pid)
    return _unshared(pid)


def _unshared(pid: int) -> int:
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
        return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def _counters() -> list[tuple[Path, str]]:
    own = _own_group()
    return [
        (Path("/sys/fs/cgroup") / own / "memory.events", "oom_kill"),
        (Path("/sys/fs/cgroup/memory.events"), "oom_kill"),
        (Path("/sys/fs/cgroup/memory/memory.oom_control"), "oom_kill"),
    ]


def _own_group() -> str:
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return ""
    return next((line.split("::", 1)[1].lstrip("/") for line in lines if line.startswith("0::")), "")

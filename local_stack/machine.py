"""What this machine can lend to jobs: processor, memory and CUDA devices."""

import re
import shutil
import subprocess
from dataclasses import dataclass

import psutil

_WORKER_RAM = 10**9
_LEAST_SLOTS = 4
_QUERY_S = 10


@dataclass(frozen=True)
class Device:
    """One CUDA device; ``id`` is what CUDA_VISIBLE_DEVICES takes, memory in bytes."""

    id: str
    title: str
    memory: int

    @property
    def gpu_type(self) -> str:
        """The name as an offer spells it: lower case, hyphens."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


@dataclass(frozen=True)
class Machine:
    """A machine that lends; RAM in bytes."""

    cores: int
    ram: int
    devices: tuple[Device, ...] = ()

    @property
    def cpu_slots(self) -> int:
        """Four workers or one a core, and never more than one per GB: three shards must run on a small laptop too."""
        return min(max(_LEAST_SLOTS, self.cores), self.ram // _WORKER_RAM)


def this_machine() -> Machine:
    """The machine this process runs on: the cores it may use, all of its memory, the devices nvidia-smi lists, if any."""
    return Machine(cores=_usable_cores(), ram=int(psutil.virtual_memory().total), devices=_cuda_devices())


def parsed_devices(listing: str) -> tuple[Device, ...]:
    """The devices of ``nvidia-smi --query-gpu=uuid,name,memory.total --format=csv,noheader,nounits`` (memory in MiB)."""
    rows = (line.split(", ") for line in listing.splitlines() if line.strip())
    return tuple(Device(id=uuid, title=name, memory=int(mib) * 2**20) for uuid, name, mib in rows)


def _usable_cores() -> int:
    process = psutil.Process()
    if hasattr(process, "cpu_affinity"):
        return len(process.cpu_affinity())
    return psutil.cpu_count() or 1


def _cuda_devices() -> tuple[Device, ...]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ()
    query = [tool, "--query-gpu=uuid,name,memory.total", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=_QUERY_S, check=True)
        return parsed_devices(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return ()  # a driver that is broken or asleep: the processor can still be lent

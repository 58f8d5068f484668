"""What the last lines of a log betray: causes that come under many names, told apart by their words.

A worker says how its process ended or what was raised (the exit facts) and shows its last lines; here the two become a cause
with a class of its own, so that its advice fits. A cause that names its place in the code keeps it.
"""

import re
from collections.abc import Callable, Iterator

from chalicelib.contracts.job import SERVER, Cause, ReasonCode

_RAISED = frozenset({ReasonCode.TRAINING_RAISED, ReasonCode.IMPORT_FAILED, ReasonCode.MODEL_BUILD_FAILED})
"""The sentence names the exception, so what the log said before it was survived."""
_ENDED = frozenset({ReasonCode.OUT_OF_MEMORY, ReasonCode.PROCESS_KILLED, ReasonCode.PROCESS_CRASHED, ReasonCode.PLATFORM_ERROR})
"""The sentence says how it ended; why is in the last lines."""
_LOOKED_AT = 12
_QUOTED = 300

_BY_SIGNAL = re.compile(r"\bSIG[A-Z]{2,}\b|\bby signal \d")
_OF_ANOTHER = re.compile(r"^The above exception was the direct cause")
_SHARED_MEMORY = re.compile(
    r"DataLoader worker .{0,40}killed by signal: Bus error|out of shared memory|insufficient shared memory"
    r"|unable to (?:open|mmap|resize|allocate) .{0,40}(?:shared memory|</torch_)|unable to write to file </torch_"
    r"|No space left on device.{0,40}/dev/shm|\bSIGBUS\b|\bby signal 7\b"
)
_DISK = re.compile(r"No space left on device|PytorchStreamWriter failed writing|basic_ios::clear: iostream error")
_GPU_MEMORY = re.compile(
    r"(?:CUDA|HIP) out of memory|(?:CUDA|HIP) error: out of memory|CU(?:BLAS|DNN)_STATUS_ALLOC_FAILED"
    r"|torch\.(?:cuda\.)?OutOfMemoryError"
)
_NUMPY_ABI = re.compile(
    r"(?i:numpy is not available)|numpy\.core\.multiarray failed to import|_ARRAY_API not found|numpy\.dtype size changed"
)
_MISSING_MODULE = re.compile(r"No module named '?([\w.]+)'?")

_SIZE = r"(\d[\d.]* ?[KMGT]?i?B)"
_ASKED, _FREE = re.compile(rf"[Tt]ried to allocate {_SIZE}()"), re.compile(rf"{_SIZE}() (?:is )?free")
_IN_ALL = re.compile(rf"total capacity of {_SIZE}|{_SIZE} total capacity")
_NUMPY_VERSIONS = re.compile(r"compiled using NumPy (\S+) cannot be run in\s+NumPy (\d[\w.]*)")
_TORCH_VERSION = re.compile(r"\b(?:py)?torch(?:==|-| version:? )(\d[\w.+]*)", re.IGNORECASE)

_Reading = Callable[[Cause, re.Match[str]], str]
"""The sentence for a line that matched; it names the worker and what can be known."""


def diagnosed(cause: Cause) -> Cause:
    """The cause with the class that its words betray, the last line that betrays one deciding; else the cause as it is."""
    for line in _last_first(cause):
        for code, words, reading in _symptoms(cause):
            found = words.search(line)
            if found:
                return cause.model_copy(update={"code": code, "sentence": reading(cause, found)})
    return cause


def _last_first(cause: Cause) -> Iterator[str]:
    if cause.code in _RAISED | _ENDED:
        yield cause.sentence
    if cause.code in _ENDED or (cause.code in _RAISED and any(_OF_ANOTHER.match(line) for line in cause.evidence)):
        yield from reversed(cause.evidence[-_LOOKED_AT:])


def _symptoms(cause: Cause) -> "tuple[_Symptom, ...]":
    """A process that a signal ended did not end by an exception."""
    return _OF_MEMORY if _BY_SIGNAL.search(cause.sentence) else _OF_MEMORY + _OF_PACKAGES


def _shared_memory(cause: Cause, found: re.Match[str]) -> str:
    what = f"{_who(cause)} ran out of shared memory (/dev/shm), which a DataLoader with num_workers above 0 needs"
    return f"{what}; set num_workers=0{_quoted(found)}"


def _disk(cause: Cause, found: re.Match[str]) -> str:
    return f"the disk of {_who(cause)} is full{_quoted(found)}"


def _gpu_memory(cause: Cause, found: re.Match[str]) -> str:
    text = _all(cause)
    places = (("asked for", _ASKED), ("in all", _IN_ALL), ("free", _FREE))
    sizes = [f"{size[1] or size[2]} {what}" for what, words in places if (size := words.search(text))]
    told = f" ({', '.join(sizes)})" if sizes else ""
    return f"{_who(cause)} ran out of GPU memory{told}{_quoted(found)}"


def _numpy_abi(cause: Cause, found: re.Match[str]) -> str:
    text = _all(cause)
    versions, torch = _NUMPY_VERSIONS.search(text), _TORCH_VERSION.search(text)
    built = f"built for numpy {versions[1]}, numpy {versions[2]} is installed" if versions else "built for another numpy"
    return f"torch{f' {torch[1]}' if torch else ''} and numpy do not fit each other on {_who(cause)}: {built}{_quoted(found)}"


def _missing_module(cause: Cause, found: re.Match[str]) -> str:
    if found[1] in cause.sentence:
        return cause.sentence
    return f"{_who(cause)} has no module named {found[1]}{_quoted(found)}"


def _who(cause: Cause) -> str:
    who = "the central server" if cause.site in (None, SERVER) else cause.site
    return f"{who}, in round {cause.round + 1}," if cause.round is not None else f"{who}"


def _quoted(found: re.Match[str]) -> str:
    return f" [{found.string.strip()[:_QUOTED]}]"


def _all(cause: Cause) -> str:
    return "\n".join((*cause.evidence, cause.sentence))


_Symptom = tuple[ReasonCode, re.Pattern[str], _Reading]
_OF_MEMORY: tuple[_Symptom, ...] = (
    (ReasonCode.SHARED_MEMORY, _SHARED_MEMORY, _shared_memory),
    (ReasonCode.DISK_FULL, _DISK, _disk),
    (ReasonCode.GPU_MEMORY, _GPU_MEMORY, _gpu_memory),
)
_OF_PACKAGES: tuple[_Symptom, ...] = (
    (ReasonCode.DEPENDENCY_CONFLICT, _NUMPY_ABI, _numpy_abi),
    (ReasonCode.MISSING_MODULE, _MISSING_MODULE, _missing_module),
)

"""The file by which NVFLARE's processes tell their supervisor what happens."""

import os
from collections.abc import Callable
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from chalicelib.contracts.worker import WorkerEvent

JOURNAL = "TUTTI_JOURNAL"


def write_event(event: WorkerEvent) -> None:
    """Append one event as one line; lines of several processes never mix. Without TUTTI_JOURNAL nothing is written."""
    path = os.environ.get(JOURNAL)
    if not path:
        return
    line = event.model_dump_json(exclude_none=False).encode() + b"\n"
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        append(file, line if _ends_whole(file) else b"\n" + line)
    finally:
        os.close(file)


def append(file: int, content: bytes, write: Callable[[int, bytes], int] = os.write) -> None:
    """Write all of the content; a disk that takes only a part of it raises OSError in the end, never nothing."""
    while content:
        content = content[write(file, content) :]


def _ends_whole(file: int) -> bool:
    # What a full disk tore must not swallow the next event, which may be the one that says so.
    size = os.fstat(file).st_size
    return size == 0 or os.pread(file, 1, size - 1) == b"\n"


def read_events(path: Path, offset: int = 0) -> tuple[list[WorkerEvent], int]:
    """The events after a byte offset and the offset to go on from; a line still being written waits for the next call.

    A line that is no event is left out: the file is shared with user code, which may write to it by accident.
    """
    if not path.exists():
        return [], offset
    with path.open("rb") as file:
        file.seek(offset)
        content = file.read()
    whole = content[: content.rfind(b"\n") + 1]
    adapter: TypeAdapter[WorkerEvent] = TypeAdapter(WorkerEvent)
    events: list[WorkerEvent] = []
    for line in whole.splitlines():
        try:
            events.append(adapter.validate_json(line))
        except ValidationError:
            continue
    return events, offset + len(whole)

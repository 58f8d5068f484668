"""A process that runs the engine, to be killed: ``python -m tests.state_machine.child FOLDER``.

It starts the execution in ``machine.json`` if there is none, and writes what it does into the folder: ``calls`` has a line
for every call of a function, ``events`` one for every event that is safely written.
"""

import json
import os
import sys
import time
from pathlib import Path

from pydantic import JsonValue

from local_stack.state_machine import Engine
from tests.state_machine.builders import Json


def note(file: Path, line: str) -> None:
    """Append the line in one write."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


def engine_in(folder: Path) -> Engine:
    """The engine on the folder's file, whose functions note their calls and sleep ``s`` seconds."""

    def invoke(name: str, payload: JsonValue) -> JsonValue:
        given: Json = payload if isinstance(payload, dict) else {}
        note(folder / "calls", f"{name} {given.get('i', '')} {given.get('token', '')}".strip())
        seconds = given.get("s", 0)
        time.sleep(seconds if isinstance(seconds, int | float) else 0)
        return None

    return Engine(folder / "states.db", invoke)


def main(folder: Path) -> None:
    """Run until killed."""
    engine = engine_in(folder)
    engine.start()
    arn = engine.operations.install("m", (folder / "machine.json").read_text())
    found = engine.operations.executions(arn, None)
    execution = found[0] if found else engine.operations.start_execution(arn, "e", json.dumps({"xs": list(range(60))}))
    told = 0
    while True:
        events = engine.operations.history(execution.arn)
        for event in events[told:]:
            note(folder / "events", event.type)
        told = len(events)
        time.sleep(0.005)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

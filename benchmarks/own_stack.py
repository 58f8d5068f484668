"""A stack of one's own, as ``make up`` starts it, for as long as a measurement takes."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_UP_WITHIN_S = 120
_DOWN_WITHIN_S = 60


@contextmanager
def own_stack(data: Path) -> Iterator[str]:
    """The address of a stack over this data folder, stopped at the end. Not up within 120 s: RuntimeError with its last words."""
    data.mkdir(parents=True, exist_ok=True)
    ready, log_file = data.with_suffix(".ready"), data.with_suffix(".log")
    command = [sys.executable, "-m", "local_stack", "up", "--ephemeral", "--data", str(data), "--ready", str(ready)]
    with log_file.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        until = time.monotonic() + _UP_WITHIN_S
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the stack did not come up:\n{log_file.read_text()[-2000:]}")
            time.sleep(0.1)
        yield str(json.loads(ready.read_text())["url"])
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_DOWN_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

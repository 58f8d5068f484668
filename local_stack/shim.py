"""What stands between the stack and one worker: it outlives the stack, waits for the worker and writes down how it ended.

Run as ``python -m local_stack.shim FOLDER COMMAND…``, in a session of its own and with SIGTERM blocked. It runs the command in
``FOLDER/work``, hands SIGTERM on to it, writes ``FOLDER/status.json`` when it ends, kills what it left behind and removes its
scratch. A worker dies with its shim.
"""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from local_stack.process_tree import MARKER, kill, members
from local_stack.whole_file import write_whole

STATUS_FILE = "status.json"
SCRATCH = "work"

_NOT_STARTED = 127
_SWEEPS = 100
_SWEEP_PAUSE_S = 0.05
_PR_SET_PDEATHSIG = 1


def main(arguments: Sequence[str]) -> int:
    """Run the worker to its end; 0 once its status is written, whatever it is."""
    folder, command = Path(arguments[0]), arguments[1:]
    os.chdir(folder)
    kills_before = _out_of_memory_kills()
    status = _run(command, folder / SCRATCH)
    out_of_memory = status == -signal.SIGKILL and _out_of_memory_kills() > kills_before
    write_whole(folder / STATUS_FILE, json.dumps({"status": status, "out_of_memory": out_of_memory}))
    _sweep(os.environ[MARKER])
    shutil.rmtree(folder / SCRATCH, ignore_errors=True)
    return 0


def _run(command: Sequence[str], scratch: Path) -> int:
    try:
        # A process group of its own: a worker that signals its whole group must not hit the shim.
        worker = subprocess.Popen(command, cwd=scratch, process_group=0, preexec_fn=_tied_to(os.getpid()))  # noqa: PLW1509
    except OSError as error:
        print(f"The worker could not be started: {error}", file=sys.stderr)
        return _NOT_STARTED
    signal.signal(signal.SIGTERM, lambda *_: worker.terminate())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    return worker.wait()


def _tied_to(shim: int) -> Callable[[], None]:
    """What the worker's process does before it becomes the worker: hear SIGTERM again, and die when the shim dies."""
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def prepare() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != shim:  # it died before the tie was made
            os._exit(_NOT_STARTED)

    return prepare


def _sweep(handle: str) -> None:
    """Kill what the worker left running; a process that cannot be killed yet is left to the stack, which looks again."""
    for _ in range(_SWEEPS):
        left = members(handle, session=os.getsid(0))
        if not left:
            return
        kill(left)
        time.sleep(_SWEEP_PAUSE_S)


def _out_of_memory_kills() -> int:
    """How many processes this machine's kernel has killed for want of memory; 0 where it does not say."""
    try:
        counters = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in counters if line.startswith("oom_kill ")), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

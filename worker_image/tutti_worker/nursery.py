"""A warm process for every worker of one machine: imports once, and each worker gets a fork of it in milliseconds.

Optional. Where ``TUTTI_NURSERY`` names its socket, a worker asks it; without it a worker warms up a process of its own.
"""

import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

from tutti_worker.death import die_with_parent
from tutti_worker.forked import Outputs
from tutti_worker.warm import FOR_TRAINING, live_warm, preload

VARIABLE = "TUTTI_NURSERY"
_LARGEST = 1 << 17
_DESCRIPTORS = 3
_READY_WITHIN_S = 60.0


def main(argv: Sequence[str]) -> int:
    """Serve on the Unix socket ``argv[0]``, until the process that started this one is gone."""
    die_with_parent(os.getppid())
    place = Path(argv[0])
    place.unlink(missing_ok=True)
    os.umask(0o077)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.bind(str(place))
        door.listen(64)  # before the imports: a worker that comes early waits for them and does not make its own
        preload(FOR_TRAINING)
        # Nobody waits for the forks: their supervisors watch them by their sockets.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            visitor, _ = door.accept()
            with visitor:
                _serve(visitor, door)


def ask(place: Path, control: socket.socket, outputs: Outputs, environ: Mapping[str, str]) -> int:
    """The pid of a warm process that serves ``control``; raises OSError when the nursery is not there."""
    packet = json.dumps({"environ": dict(environ), "folder": str(Path.cwd())}).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as visitor:
        visitor.settimeout(_READY_WITHIN_S)
        visitor.connect(str(place))
        socket.send_fds(visitor, [packet], [control.fileno(), outputs.nvflare, outputs.job])
        answer = visitor.recv(64)
    if not answer.isdigit():
        raise ConnectionError("the nursery gave no process")
    return int(answer)


def _serve(visitor: socket.socket, door: socket.socket) -> None:
    visitor.settimeout(5.0)
    try:
        packet, descriptors, _, _ = socket.recv_fds(visitor, _LARGEST, _DESCRIPTORS)
    except OSError:
        return
    try:
        if len(descriptors) == _DESCRIPTORS:
            pid = os.fork()
            if pid == 0:
                door.close()
                _become(json.loads(packet), descriptors)
            visitor.send(str(pid).encode())
    except OSError:
        traceback.print_exc()
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _become(asked: Mapping[str, object], descriptors: Sequence[int]) -> None:
    control, nvflare, job = descriptors
    environ = asked["environ"]
    if isinstance(environ, dict):
        os.environ.clear()
        os.environ.update(environ)
    os.chdir(str(asked["folder"]))
    live_warm(socket.socket(fileno=control), Outputs(nvflare, job))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

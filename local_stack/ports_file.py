"""Free loopback ports, chosen once and kept, so that bookmarks and other tools' settings stay right."""

import json
import random
import socket
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from local_stack.private_files import write_private

# Below the range from which systems pick the ports of outgoing connections: one of those could sit on a port at restart.
_LOWEST, _HIGHEST = 12_000, 31_999
_TRIES = 1_000


class PortsExhausted(OSError):
    """No free loopback port was found."""


def kept_ports(file: Path, names: Sequence[str]) -> dict[str, int]:
    """A port for each name: those the file has, and free ones for names new to it, which are written there."""
    known: dict[str, int] = json.loads(file.read_text()) if file.exists() else {}
    missing = [name for name in names if name not in known]
    for name in missing:
        known[name] = _free_port(taken=set(known.values()))
    if missing:
        write_private(file, json.dumps(known, indent=1))
    return {name: known[name] for name in names}


def is_free(port: int) -> bool:
    """Whether the port of 127.0.0.1 can be listened on now."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _free_port(*, taken: set[int]) -> int:
    chance = random.SystemRandom()
    for _ in range(_TRIES):
        port = chance.randint(_LOWEST, _HIGHEST)
        if port not in taken and is_free(port):
            return port
    raise PortsExhausted(f"no free port of 127.0.0.1 between {_LOWEST} and {_HIGHEST}; end programs that hold them")

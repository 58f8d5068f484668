"""What the supervisor, the warm process and NVFLARE's launchers say to each other: one JSON object a packet."""

import json
import socket
from dataclasses import asdict, dataclass, field

LARGEST = 1 << 17
ENVIRONMENT = "TUTTI_WARM_FD"
"""Names the file descriptor of the socket that a process forked from the warm one asks for further forks."""


@dataclass(frozen=True)
class Start:
    """Fork and run ``entry`` (``module:function``, called with ``argv``)."""

    id: str
    entry: str
    argv: list[str]
    env: dict[str, str] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)
    """Folders put in front of sys.path."""
    title: str = ""
    """``nvflare``, ``job``, ``preflight`` …: says whose output it is."""


@dataclass(frozen=True)
class Stop:
    """End a process started with this id, and its process group, by SIGTERM; silent when it is gone."""

    id: str


@dataclass(frozen=True)
class Preload:
    """Import these modules as soon as there is nothing else to do."""

    modules: list[str]


@dataclass(frozen=True)
class Started:
    """The process is there."""

    id: str
    pid: int
    title: str


@dataclass(frozen=True)
class Ended:
    """The process is gone; ``status`` below zero is the signal that ended it."""

    id: str
    pid: int
    title: str
    status: int
    asked: bool = False
    """Somebody had sent Stop for it."""


Message = Start | Stop | Preload | Started | Ended
_KINDS: dict[str, type[Start] | type[Stop] | type[Preload] | type[Started] | type[Ended]] = {
    "Preload": Preload,
    "Start": Start,
    "Stop": Stop,
    "Started": Started,
    "Ended": Ended,
}


def pair() -> tuple[socket.socket, socket.socket]:
    """Two connected ends that keep packets apart."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(end: socket.socket, message: Message) -> None:
    """Send one message; silent when nobody is there to read it any more."""
    packet = json.dumps({"kind": type(message).__name__, **asdict(message)}).encode()
    try:
        end.send(packet)
    except (BrokenPipeError, ConnectionResetError, ConnectionRefusedError):
        return


def receive(end: socket.socket) -> Message | None:
    """The next message; None when the other end is closed."""
    try:
        packet = end.recv(LARGEST)
    except ConnectionResetError:
        return None
    if not packet:
        return None
    fields = json.loads(packet)
    return _KINDS[fields.pop("kind")](**fields)

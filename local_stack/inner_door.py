"""The stack's own loopback port: the state machine's protocol, and the object store's webhook behind a secret path."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from local_stack.state_machine.operations import Operations
from local_stack.state_machine.protocol import Protocol
from local_stack.upload_events import UploadEvents
from local_stack.wsgi_server import WsgiServer

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment


_THREADS = 8
_LARGEST_REQUEST = 4 * 2**20


class InnerDoor:
    """A WSGI server for machines, not for people; listens from ``start`` to ``stop``."""

    def __init__(self, host: str, port: int, events: UploadEvents, operations: Callable[[], Operations]) -> None:
        self._host, self._port = host, port
        self._events = events
        self._protocol = Protocol(operations)
        self._server: WsgiServer | None = None

    @property
    def url(self) -> str:
        """The address."""
        return f"http://{self._host}:{self._port}"

    def start(self) -> None:
        """Listen. A port in use raises PortTaken."""
        address = (self._host, self._port)
        self._server = WsgiServer(self._answer, address, name="inner-door", threads=_THREADS, largest_request=_LARGEST_REQUEST)

    def stop(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def _answer(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        if environ.get("PATH_INFO", "").startswith("/_store/"):
            return self._events(environ, start_response)
        return self._protocol(environ, start_response)

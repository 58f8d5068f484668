"""A WSGI application on a loopback port: waitress with a loop of our own, which can be ended from another thread."""

import threading
from typing import TYPE_CHECKING, Any

from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.server import create_server

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication


class PortTaken(OSError):
    """Another program listens on the port."""


class WsgiServer:
    """Listens from the moment it is made until ``close``; the port is held by somebody else: PortTaken."""

    def __init__(
        self,
        application: "WSGIApplication",
        address: tuple[str, int],
        *,
        name: str,
        threads: int,
        largest_request: int,
        channel: type[Any] = HTTPChannel,
    ) -> None:
        self._sockets: dict[int, Any] = {}
        self._closing = threading.Event()
        host, port = address
        try:
            self._waitress = create_server(
                application,
                map=self._sockets,
                host=host,
                port=port,
                threads=threads,
                max_request_body_size=largest_request + 1,  # waitress refuses what reaches its limit
                ident=None,
                channel_timeout=120,
                connection_limit=500,
                backlog=256,
            )
        except OSError as error:
            raise PortTaken(f"{host}:{port} is held by another program; end it or choose another port") from error
        self._waitress.channel_class = channel
        self._loop = threading.Thread(target=self._serve, name=name, daemon=True)
        self._loop.start()

    def close(self) -> None:
        """Answer nothing more and close every connection, within 10 s."""
        self._closing.set()
        self._waitress.pull_trigger()
        self._loop.join(10)
        self._waitress.task_dispatcher.shutdown()
        self._waitress.close()
        wasyncore.close_all(self._sockets)

    def _serve(self) -> None:
        while not self._closing.is_set():
            wasyncore.loop(timeout=1, use_poll=True, map=self._sockets, count=1)

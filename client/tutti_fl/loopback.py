"""A page on this machine to which the browser comes back after signing in."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit

PAGE = b"<!doctype html><title>Tutti</title><p>You are signed in. Close this page and go back to the terminal."


class Callback:
    """Listens on a free port of 127.0.0.1 while it is used in a ``with``, and takes one answer."""

    def __init__(self) -> None:
        self._answer: dict[str, list[str]] | None = None
        self._arrived = threading.Event()
        self._server = HTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        self.uri = f"http://127.0.0.1:{self._server.server_port}/callback"

    def wait(self, seconds: float) -> dict[str, list[str]] | None:
        """The query the browser came with; None when it did not come in time."""
        self._arrived.wait(seconds)
        return self._answer

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _take(self, query: str) -> None:
        if not self._arrived.is_set():
            self._answer = parse_qs(query)
            self._arrived.set()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        take = self._take

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = urlsplit(self.path)
                found = asked.path == "/callback"
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(PAGE) if found else 0))
                self.end_headers()
                if found:
                    self.wfile.write(PAGE)
                    take(asked.query)

            def log_message(self, format: str, *args: object) -> None:
                """The terminal is the user's."""

        return Handler

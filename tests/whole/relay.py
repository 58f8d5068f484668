"""The way between a client and a stack, with everything that can happen on it: bytes flip, lines are cut, answers are lost."""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Cut(Exception):
    """The connection breaks here."""


@dataclass
class Passing:
    """One request on its way; what ``before`` changes is what arrives."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    status: int = 0
    """Of the answer, once there is one."""

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def part(self) -> int | None:
        """The number of the part that this request uploads."""
        number = parse_qs(urlsplit(self.target).query).get("partNumber")
        return int(number[0]) if number and self.method == "PUT" else None


Hook = Callable[[Passing], None]


@dataclass
class Relay:
    """Both addresses of a stack in one. ``before`` may change a request, either hook may raise Cut, and ``down`` cuts all."""

    api: str
    store: str
    before: Hook = lambda _: None
    after: Hook = lambda _: None
    down: bool = False
    url: str = ""
    passed: list[Passing] = field(default_factory=list)

    def parts(self, status: int = 200) -> list[int]:
        """The numbers of the parts that were answered so, in the order of the answers."""
        return [one.part for one in self.passed if one.part is not None and one.status == status]

    def carry(self, passing: Passing) -> tuple[int, dict[str, str], bytes]:
        """To its real address and back."""
        if self.down:
            raise Cut
        self.before(passing)
        is_api = passing.path.startswith(("/api/", "/auth/"))
        answer = _asked(self.api if is_api else self.store, passing)
        passing.status = answer[0]
        self.passed.append(passing)
        self.after(passing)
        status, headers, body = answer
        if is_api:
            body = body.replace(self.store.encode(), self.url.encode())
        return status, headers, body


def _asked(address: str, passing: Passing) -> tuple[int, dict[str, str], bytes]:
    place = urlsplit(address).netloc
    connection = http.client.HTTPConnection(place, timeout=120)
    try:
        # The signature of a URL covers the host it was signed for.
        connection.request(passing.method, passing.target, passing.body or None, passing.headers | {"Host": place})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    relay: Relay

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            status, headers, content = self.relay.carry(Passing(self.command, self.path, dict(self.headers.items()), body))
        except (Cut, OSError):
            self.close_connection = True
            return
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815 - the base class names them so

    def log_message(self, format: str, *args: object) -> None:
        """Silence."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed is nothing to talk about."""


@contextmanager
def relayed(api: str, store: str) -> Iterator[Relay]:
    """A relay on a free port of this machine."""
    relay = Relay(api, store)
    server = _Server(("127.0.0.1", 0), type("Bound", (_Handler,), {"relay": relay}))
    relay.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield relay
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

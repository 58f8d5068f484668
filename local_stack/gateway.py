"""One loopback port for everything a user meets: the API, the sign-in, the console."""

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chalice.app import Chalice
from waitress.channel import HTTPChannel
from waitress.task import ErrorTask

from local_stack.answers import Answer
from local_stack.gateway_api import ChaliceApi
from local_stack.static_files import StaticFiles
from local_stack.wsgi_server import WsgiServer

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_THREADS = 16
_LARGEST_REQUEST = 10 * 2**20  # API Gateway's
_SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


class Gateway:
    """A WSGI application and its server: ``/api`` the app, ``/auth`` the issuer, mounts by their prefix, else the site.

    Only requests to this machine's loopback names are answered, and /api and /auth refuse pages of other origins, so that
    a page elsewhere whose name was pointed at 127.0.0.1 reaches nothing.
    """

    def __init__(
        self,
        app: Chalice,
        *,
        issuer: "WSGIApplication",
        site: Path | None,
        port: int,
        host: str = "127.0.0.1",
        mounts: "Mapping[str, WSGIApplication] | None" = None,
        connect: Sequence[str] = (),
    ) -> None:
        self.origin = f"http://127.0.0.1:{port}"
        self._address = (host, port)
        self._localhost = f"localhost:{port}"
        self._hosts = (f"127.0.0.1:{port}", self._localhost)
        self._origins = tuple(f"http://{name}" for name in self._hosts)
        self._site = StaticFiles(site, origin=self.origin, connect=connect)
        self._mounts: dict[str, WSGIApplication] = {"/api": ChaliceApi(app), "/auth": issuer, **(mounts or {})}
        self._server: WsgiServer | None = None

    def start(self) -> None:
        """Listen and answer from now on, in threads of its own. The port is held by somebody else: PortTaken."""
        self._server = WsgiServer(
            self, self._address, name="gateway", threads=_THREADS, largest_request=_LARGEST_REQUEST, channel=_Channel
        )

    def stop(self) -> None:
        """Answer nothing more, and close every connection; silent when it does not run."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Answer one request, with the security headers that the part in charge did not set itself."""

        def secured(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            known = {name.lower() for name, _ in headers}
            added = [(name, value) for name, value in _SECURITY.items() if name.lower() not in known]
            return start_response(status, headers + added, exc_info)

        refused = self._refusal(environ)
        if refused is not None:
            return refused.send(environ, secured)
        return self._part_in_charge(environ)(environ, secured)

    def _refusal(self, environ: "WSGIEnvironment") -> Answer | None:
        host, path = environ.get("HTTP_HOST", ""), environ["REQUEST_URI"]
        if host not in self._hosts:
            return Answer.error(HTTPStatus.FORBIDDEN, "forbidden", f"only {self.origin} is answered here")
        if not path.startswith("/"):
            return Answer.error(HTTPStatus.BAD_REQUEST, "invalid_request", "a request begins with a path")
        origin = environ.get("HTTP_ORIGIN")
        if origin is not None and origin not in self._origins:
            return Answer.error(HTTPStatus.FORBIDDEN, "forbidden", "pages of other origins may not use this")
        reads = environ["REQUEST_METHOD"] in ("GET", "HEAD")
        if host == self._localhost and reads and not _is_below(path, "/api"):
            # One origin for the console: the session cookie of 127.0.0.1 is not sent to localhost.
            return Answer.redirect(f"{self.origin}{path}", HTTPStatus.TEMPORARY_REDIRECT)
        return None

    def _part_in_charge(self, environ: "WSGIEnvironment") -> "WSGIApplication":
        path = environ["REQUEST_URI"].partition("?")[0]
        for prefix, part in self._mounts.items():
            if _is_below(path, prefix):
                environ["SCRIPT_NAME"] = prefix
                environ["PATH_INFO"] = environ["PATH_INFO"].removeprefix(prefix)
                return part
        return self._site


class _JsonErrorTask(ErrorTask):  # type: ignore[misc]
    """What waitress refuses by itself (too large, not HTTP) is told in the API's form."""

    def execute(self) -> None:
        refused = self.request.error
        code = "too_large" if refused.code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE else "invalid_request"
        answer = Answer.error(refused.code, code, f"{refused.reason}: {refused.body}")
        self.status = f"{refused.code} {refused.reason}"
        self.response_headers.extend(answer.with_headers(_SECURITY).headers)
        self.set_close_on_finish()
        self.content_length = len(answer.body)
        self.write(answer.body)


class _Channel(HTTPChannel):  # type: ignore[misc]
    error_task_class = _JsonErrorTask


def _is_below(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith((f"{prefix}/", f"{prefix}?"))

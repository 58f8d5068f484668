"""HTTP answers of the laptop's own pages: the smallest thing that WSGI needs."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

_NO_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)


@dataclass(frozen=True)
class Answer:
    """A status, headers (a name may come twice) and a whole body."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    @classmethod
    def text(cls, status: int, text: str, content_type: str = "text/plain; charset=utf-8") -> "Answer":
        """A text, as UTF-8."""
        return cls(status, (("Content-Type", content_type),), text.encode())

    @classmethod
    def json(cls, status: int, value: Mapping[str, Any]) -> "Answer":
        """A value as JSON, which no cache keeps."""
        headers = (("Content-Type", "application/json"), ("Cache-Control", "no-store"))
        return cls(status, headers, json.dumps(value).encode())

    @classmethod
    def error(cls, status: int, code: str, message: str, *, hint: str = "", request_id: str = "") -> "Answer":
        """An error in the form of the API's own."""
        told = {"code": code, "message": message, "hint": hint, "fields": {}, "request_id": request_id}
        return cls.json(status, {"error": told})

    @classmethod
    def redirect(cls, url: str, status: int = HTTPStatus.SEE_OTHER) -> "Answer":
        """Go to that address; no cache keeps it."""
        return cls(status, (("Location", url), ("Cache-Control", "no-store")))

    def with_headers(self, headers: Mapping[str, str]) -> "Answer":
        """The same with these headers where it has none of that name."""
        present = {name.lower() for name, _ in self.headers}
        added = tuple((name, value) for name, value in headers.items() if name.lower() not in present)
        return Answer(self.status, self.headers + added, self.body)

    def send(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Answer the request; a HEAD gets everything but the body."""
        headers = list(self.headers)
        if self.status not in _NO_BODY:
            headers.append(("Content-Length", str(len(self.body))))
        start_response(f"{self.status} {_phrase(self.status)}", headers)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [self.body]


def body_of(environ: "WSGIEnvironment") -> bytes:
    """The whole body of the request."""
    body: bytes = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    return body


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Answer"

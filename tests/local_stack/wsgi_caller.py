"""Calls a WSGI application without a server."""

import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlencode

ORIGIN = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Reply:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        return next((value for known, value in self.headers if known.lower() == name.lower()), "")

    @property
    def text(self) -> str:
        return self.body.decode()


def call(
    application: Any,
    method: str,
    path: str,
    *,
    query: dict[str, str] | None = None,
    form: dict[str, str] | None = None,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
) -> Reply:
    sent = urlencode(form).encode() if form is not None else body
    asked = urlencode(query or {})
    environ: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote(path),
        "REQUEST_URI": f"{path}?{asked}" if asked else path,
        "QUERY_STRING": asked,
        "CONTENT_LENGTH": str(len(sent)),
        "HTTP_HOST": "127.0.0.1:8000",
        "wsgi.input": io.BytesIO(sent),
    }
    environ |= {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in (headers or {}).items()}
    seen: list[Any] = []

    def start_response(status: str, answered: list[tuple[str, str]], exc_info: Any = None) -> None:
        seen.extend([int(status.split(maxsplit=1)[0]), answered])

    chunks: Iterable[bytes] = application(environ, start_response)
    content = b"".join(chunks)
    return Reply(seen[0], seen[1], content)

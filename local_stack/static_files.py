"""The built console, served as it lies on disk; a page of its own says so when it is not built."""

import hashlib
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from local_stack.answers import Answer

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_FOR_A_YEAR = "public, max-age=31536000, immutable"  # names below /assets/ carry a hash of the content
_NOT_BUILT = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Tutti</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head><body><main><h1>Tutti is running</h1>
<p>The console is not built yet. Use the command line meanwhile:</p>
<pre>tutti login {origin}
tutti run FOLDER</pre>
<p>Is the API there? <a href="/api/health">/api/health</a></p></main></body></html>
"""


class StaticFiles:
    """A WSGI application for the files of one folder. Pages of it may also talk to the origins in ``connect``."""

    def __init__(self, folder: Path | None, *, origin: str, connect: Sequence[str] = ()) -> None:
        self._folder = folder.resolve() if folder and (folder / "index.html").is_file() else None
        self._origin = origin
        reachable = " ".join(["'self'", *connect])
        self._policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
            f"worker-src 'self'; manifest-src 'self'; connect-src {reachable}; "
            "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
        )

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Answer GET and HEAD; / is index.html, and no other path falls back to it."""
        return self._answer(environ).send(environ, start_response)

    def _answer(self, environ: "WSGIEnvironment") -> Answer:
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            refused = Answer.error(HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", "files can only be read")
            return refused.with_headers({"Allow": "GET, HEAD"})
        path = unquote(environ["REQUEST_URI"].partition("?")[0], errors="replace")
        if self._folder is None:
            return self._not_built() if path == "/" else _absent()
        file = _inside(self._folder, "index.html" if path == "/" else path.lstrip("/"))
        return self._file(file, path, environ.get("HTTP_IF_NONE_MATCH", "")) if file else _absent()

    def _file(self, file: Path, path: str, known: str) -> Answer:
        content = file.read_bytes()
        headers = {
            "ETag": f'"{hashlib.sha256(content).hexdigest()[:32]}"',
            "Cache-Control": _FOR_A_YEAR if path.startswith("/assets/") else "no-cache",
            "Content-Security-Policy": self._policy,
        }
        if headers["ETag"] in known:
            return Answer(HTTPStatus.NOT_MODIFIED).with_headers(headers)
        kind = _TYPES.get(file.suffix, "application/octet-stream")
        return Answer(HTTPStatus.OK, (("Content-Type", kind),), content).with_headers(headers)

    def _not_built(self) -> Answer:
        page = Answer.text(HTTPStatus.OK, _NOT_BUILT.format(origin=self._origin), "text/html; charset=utf-8")
        return page.with_headers({"Cache-Control": "no-cache"})


def _inside(folder: Path, name: str) -> Path | None:
    """The file of that name; None when absent or, by dots or a link, not inside the folder."""
    try:
        file = (folder / name).resolve()
        return file if file.is_relative_to(folder) and file.is_file() else None
    except (OSError, ValueError):  # a name too long, or with a NUL
        return None


def _absent() -> Answer:
    return Answer.error(HTTPStatus.NOT_FOUND, "not_found", "there is no such page")

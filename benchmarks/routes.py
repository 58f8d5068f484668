"""The ten routes that the console and the command line call most, and what a right answer to each is."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from benchmarks.visitors import ROUNDS, Visitor


@dataclass(frozen=True)
class Route:
    """One request of a visitor; ``holds`` looks at an answer that has the status."""

    name: str
    path: Callable[[Visitor], str]
    holds: Callable[[Visitor, bytes], bool] = lambda visitor, body: visitor.owns(body)
    body: bytes | None = None
    status: int = 200

    def request(self, visitor: Visitor, host: str) -> bytes:
        """The request as it goes over the wire, on a connection that stays open."""
        method, content = ("GET", b"") if self.body is None else ("POST", self.body)
        head = f"{method} /api{self.path(visitor)} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {visitor.token}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        return head.encode() + content


def _whole_rounds(visitor: Visitor, body: bytes) -> bool:
    return visitor.owns(body) and len(json.loads(body)["rounds"]) == ROUNDS


def _nothing_new(visitor: Visitor, body: bytes) -> bool:
    return bool(json.loads(body)["seq"] == visitor.seq)


ROUTES = (
    Route("me", lambda _: "/me"),
    Route("workspaces", lambda _: "/workspaces"),
    Route("workspace", lambda visitor: f"/workspaces/{visitor.workspace}"),
    Route("report", lambda visitor: f"/workspaces/{visitor.workspace}/report"),
    Route("jobs", lambda _: "/jobs"),
    Route("live", lambda visitor: f"/jobs/{visitor.job}/live?after={visitor.seq}", _nothing_new),
    Route("rounds", lambda visitor: f"/jobs/{visitor.job}/rounds", _whole_rounds),
    Route("logs", lambda visitor: f"/jobs/{visitor.job}/logs"),
    Route("files", lambda visitor: f"/files?delimiter=/&prefix={quote(f'jobs/{visitor.workspace}/')}"),
    Route("sign", lambda visitor: f"/uploads/{visitor.upload}/sign", body=b'{"numbers": [1]}'),
)

"""The signed URLs of an upload's parts, fetched some ahead and never used when they are old."""

import threading
from collections.abc import Callable, Sequence
from urllib.parse import quote

from tutti_fl.shapes.files import PartUrls
from tutti_fl.transport import Transport

SIGNED_AT_ONCE = 20
"""How many parts one call signs; the API takes up to 100, but a URL grows old while it waits for its turn."""

Clock = Callable[[], float]


def upload_path(upload_id: str, *rest: str) -> str:
    """The route of an upload."""
    return "/".join(("/uploads", quote(upload_id, safe=""), *rest))


class PartUrlBook:
    """Gives each part a URL that still opens for half its life, so that a slow line meets no expired one. Safe from threads."""

    def __init__(self, http: Transport, upload_id: str, numbers: Sequence[int], *, clock: Clock) -> None:
        self._http, self._path = http, upload_path(upload_id, "sign")
        self._numbers, self._clock = numbers, clock
        self._urls: dict[int, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def url(self, number: int) -> str:
        """A URL for the part; signs the next ones with it."""
        with self._lock:
            url, until = self._urls.get(number, ("", 0.0))
            if url and self._clock() < until:
                return url
            ahead = [n for n in self._numbers if n == number or (n > number and n not in self._urls)][:SIGNED_AT_ONCE]
            asked = self._clock()
            answer = self._http.post(PartUrls, self._path, {"numbers": ahead}, again=True)
            self._urls |= {signed.number: (signed.url, asked + answer.expires_in_s / 2) for signed in answer.urls}
            return self._urls[number][0]

    def drop(self, number: int) -> None:
        """The URL did not work: the next attempt gets a fresh one."""
        with self._lock:
            self._urls.pop(number, None)

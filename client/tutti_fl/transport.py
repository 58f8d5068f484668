"""HTTP to the API: the token, the retries, and errors as TuttiError."""

import random
import time
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Self, TypeVar

import httpx

from tutti_fl.connections import open_http
from tutti_fl.decoding import decode
from tutti_fl.errors import NotSignedIn, TuttiError, Unreachable

T = TypeVar("T")
Pause = Callable[[float], None]

PASSING = frozenset({502, 503, 504})
"""Statuses that say: not now, nothing was lost."""


@dataclass(frozen=True)
class Retries:
    """How often to try and how long to wait: a random part of ``base_s`` × 2ⁿ, at most ``longest_s``."""

    tries: int = 5
    base_s: float = 0.3
    longest_s: float = 10.0
    pause: Pause = time.sleep
    refusals: int = 5
    """How often a transfer tries what the store refuses."""
    tries_in_outage: int = 25
    """How often a transfer tries while nobody answers: for about two minutes, so that a network may go and come back."""
    tell: Callable[[str], None] = lambda _: None
    """Told why there is a wait, from the second one on."""

    def wait(self, attempt: int, cause: str, at_least_s: float = 0.0) -> None:
        """Pause after the failed attempt with this number, counted from 0."""
        if attempt > 0:
            self.tell(cause)
        top = min(self.longest_s, self.base_s * 2**attempt)
        self.pause(max(at_least_s, random.uniform(top / 4, top)))  # noqa: S311 - jitter, not a secret

    def patient(self, tell: Callable[[str], None]) -> "Retries":
        """The same for a transfer, which sits out an outage and says so."""
        return replace(self, tries=self.tries_in_outage, tell=tell)


class Transport:
    """One API and one token. Safe to use from several threads."""

    def __init__(self, url: str, token: str, *, retries: Retries | None = None, timeout_s: float = 60.0) -> None:
        self.url = url.rstrip("/").removesuffix("/api")
        self.retries = retries or Retries()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = open_http(timeout_s=timeout_s, headers=headers)
        self._clock = PlatformClock()

    def patient(self, tell: Callable[[str], None] = lambda _: None) -> Self:
        """The same connections and token, with the patience of a transfer."""
        other = copy(self)
        other.retries = self.retries.patient(tell)
        return other

    def now(self) -> datetime:
        """The time by the platform's clock, as far as an answer has told it: this machine's may be wrong by hours."""
        return self._clock.now()

    def close(self) -> None:
        """Drop the connections; may be called twice."""
        self._http.close()

    def get(self, shape: type[T], route: str, /, **query: str | int | None) -> T:
        """Read something."""
        return decode(shape, self.call("GET", route, query=query))

    def post(self, shape: type[T], path: str, body: object = None, *, again: bool = False) -> T:
        """Change something; with ``again`` the call may be repeated without harm, so it is retried like a read."""
        return decode(shape, self.call("POST", path, body=body, again=again))

    def put(
        self,
        shape: type[T],
        path: str,
        body: object,
        *,
        query: Mapping[str, str | int | None] | None = None,
        if_match: str | None = None,
    ) -> T:
        """Write something whole."""
        headers = {"If-Match": if_match} if if_match else {}
        return decode(shape, self.call("PUT", path, query=query, body=body, headers=headers))

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int | None] | None = None,
        body: object = None,
        headers: dict[str, str] | None = None,
        again: bool | None = None,
    ) -> Any:
        """The answer's JSON. What the API refuses is a TuttiError; no answer after all retries is Unreachable."""
        params = {name: value for name, value in (query or {}).items() if value is not None}
        content = {"json": {} if body is None else body} if method in ("POST", "PUT") else {}
        request = self._http.build_request(
            method,
            f"{self.url}/api{path}",
            params=params,
            headers=headers,
            **content,  # type: ignore[arg-type]
        )
        return _json_of(self._send(request, again=method != "POST" if again is None else again))

    def _send(self, request: httpx.Request, *, again: bool) -> httpx.Response:
        for attempt in range(self.retries.tries):
            last = attempt == self.retries.tries - 1
            try:
                response = self._http.send(request)
            except httpx.TransportError as error:
                # A connection that was never made carried nothing, so even a call that must not be repeated may be tried again.
                if last or not (again or isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)):
                    raise Unreachable(self.url, str(error) or type(error).__name__) from error
                self.retries.wait(attempt, f"no answer from {self.url}")
                continue
            self._clock.hear(response)
            if last or not again or response.status_code not in PASSING:
                return response
            self.retries.wait(attempt, f"{self.url} answered {response.status_code}", _asked_wait(response))
        raise AssertionError("the loop above always returns or raises")


class PlatformClock:
    """The clock on the other side, read from the Date of its answers."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def hear(self, response: httpx.Response) -> None:
        """Take in an answer; one without a readable date says nothing."""
        try:
            told = parsedate_to_datetime(response.headers["Date"])
        except (KeyError, ValueError):
            return
        self._ahead = told.astimezone(UTC) - datetime.now(UTC)

    def now(self) -> datetime:
        """The time there, to the second; this machine's before the first answer."""
        return datetime.now(UTC) + self._ahead


def is_passing(error: TuttiError) -> bool:
    """True for what may be over in a moment: nobody answered, or it was said that now is not the time."""
    return isinstance(error, Unreachable) or error.status in PASSING


def _asked_wait(response: httpx.Response) -> float:
    asked = response.headers.get("Retry-After", "")
    return min(60.0, float(asked)) if asked.isdigit() else 0.0


def _json_of(response: httpx.Response) -> Any:
    if response.is_error:
        raise error_of(response)
    if not response.content:
        return None
    try:
        return response.json()
    except ValueError as error:
        hint = "The address should be the one Tutti prints, without a path."
        raise TuttiError("bad_answer", f"{response.url} does not speak Tutti's API", hint) from error


def error_of(response: httpx.Response) -> TuttiError:
    """What the API refused, in its own words when it has any."""
    try:
        said = response.json()["error"]
        message, code = str(said["message"]), str(said["code"])
    except (ValueError, KeyError, TypeError):
        said, code = {}, "http_error"
        message = f"{response.request.method} {response.url.path} was answered {response.status_code}"
    # A gateway in front of the API refuses a bad token by itself, with 401 or 403 and words of its own.
    if response.status_code == 401 or (response.status_code == 403 and not said):
        return NotSignedIn(message, request_id=said.get("request_id"))
    fields = {str(name): str(value) for name, value in (said.get("fields") or {}).items()}
    return TuttiError(
        code, message, said.get("hint") or "", fields=fields, request_id=said.get("request_id"), status=response.status_code
    )

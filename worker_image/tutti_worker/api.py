"""The platform's worker API: token, assignment, events, signed URLs; patient with a platform that is away."""

import random
import secrets
import threading
import time
from collections.abc import Callable, Iterator

import httpx

from chalicelib.contracts.worker import (
    Assignment,
    CompleteUpload,
    EventAnswer,
    EventBatch,
    SignedUrl,
    TokenAnswer,
    TokenRequest,
    UrlAnswer,
    UrlKind,
    UrlRequest,
    UrlWish,
)
from tutti_worker.trouble import ApiUnreachable, JobGone, Superseded

_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})


class NotYet(Exception):
    """The thing asked for is not there yet (a kit before the server has put it)."""


class Refused(Exception):
    """The platform refused a request for good; says which and why."""


class PlatformApi:
    """Every request is repeated with growing, jittered pauses until ``patience_s`` has passed without an answer.

    Raises Superseded, JobGone, ApiUnreachable or Refused. Safe to use from several threads.
    """

    def __init__(self, base: str, *, patience_s: float = 600.0, transport: httpx.BaseTransport | None = None) -> None:
        self._base = base
        self._patience_s = patience_s
        self._http = httpx.Client(timeout=httpx.Timeout(30.0, connect=5.0), transport=transport)
        self._token = ""
        self._closing = threading.Event()

    def sign_in(self, code: str) -> None:
        """Exchange the one-time code; the same nonce is used again when the answer was lost on the way."""
        body = TokenRequest(code=code, nonce=secrets.token_urlsafe(24)).model_dump_json()
        answer = self._call("POST", "/worker/token", body)
        self._token = TokenAnswer.model_validate_json(answer).token

    def secrets(self) -> tuple[str, ...]:
        """What must never stand in a log."""
        return (self._token,) if self._token else ()

    def assignment(self) -> Assignment:
        """What this worker shall do."""
        return Assignment.model_validate_json(self._call("GET", "/worker/assignment"))

    def post_events(self, batch: EventBatch) -> EventAnswer:
        """Hand events over; idempotent by their numbers."""
        return EventAnswer.model_validate_json(self._call("POST", "/worker/events", batch.model_dump_json()))

    def urls(self, wishes: list[UrlWish]) -> list[SignedUrl]:
        """Signed URLs in the order of the wishes; asks in portions of 100."""
        signed: list[SignedUrl] = []
        for start in range(0, len(wishes), 100):
            body = UrlRequest(wishes=tuple(wishes[start : start + 100])).model_dump_json()
            signed.extend(UrlAnswer.model_validate_json(self._call("POST", "/worker/urls", body)).urls)
        return signed

    def kit_url(self) -> SignedUrl:
        """Where this worker's kit is. Raises NotYet until the server has put it."""
        try:
            return self.url(UrlKind.KIT_GET)
        except JobGone as gone:
            if gone.status == 404:
                raise NotYet(str(gone)) from gone
            raise

    def url(self, kind: UrlKind, name: str = "", size: int | None = None) -> SignedUrl:
        """One signed URL."""
        return self.urls([UrlWish(kind=kind, name=name, size=size)])[0]

    def complete(self, upload: CompleteUpload) -> None:
        """Have the platform complete a multipart upload."""
        self._call("POST", "/worker/uploads/complete", upload.model_dump_json())

    def stop_waiting(self) -> None:
        """From now on an unreachable platform is tried once more and no longer waited for."""
        self._closing.set()

    def close(self) -> None:
        """Give the connections back; what is still waiting in another thread ends."""
        self._closing.set()
        self._http.close()

    def _call(self, method: str, path: str, body: str | None = None) -> bytes:
        for pause in Pauses(self._patience_s, self._closing):
            answer = self._try(method, path, body)
            if answer is not None and answer.status_code not in _RETRIED:
                return _judged(answer, path)
            self._closing.wait(pause)
        raise ApiUnreachable(f"the platform at {self._base} did not answer for {self._patience_s:.0f} s")

    def _try(self, method: str, path: str, body: str | None) -> httpx.Response | None:
        headers = {"content-type": "application/json"} if body is not None else {}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        try:
            return self._http.request(method, self._base + path, content=body, headers=headers)
        except httpx.TransportError:
            return None


class Pauses:
    """Pauses between tries: doubling from 0.2 s to 10 s, each shortened by chance, until patience or work ends."""

    def __init__(self, patience_s: float, closing: threading.Event, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience_s, self._closing, self._clock = patience_s, closing, clock
        self.restart()

    def restart(self) -> None:
        """Something went forward: patience counts from now on, and pauses are short again."""
        self._deadline, self._step = self._clock() + self._patience_s, 0.2

    def __iter__(self) -> Iterator[float]:
        """One pause for each try, to be made after it; always at least one."""
        while True:
            yield self._step * random.uniform(0.5, 1.0)  # noqa: S311 - spreads workers out, decides no secret
            if self._clock() > self._deadline or self._closing.is_set():
                return
            self._step = min(self._step * 2, 10.0)

    def excuse(self, seconds: float) -> None:
        """That long something was under way, though it came to nothing: it does not count."""
        self._deadline += seconds


def _judged(answer: httpx.Response, path: str) -> bytes:
    if answer.is_success:
        return answer.content
    error = _error_of(answer)
    code, message = str(error.get("code", "")), str(error.get("message", answer.text[:200]))
    if answer.status_code == 409 and code == "superseded":
        raise Superseded(message)
    if answer.status_code in (401, 403, 404, 410):
        raise JobGone(message, answer.status_code)
    raise Refused(f"{path}: {answer.status_code} {code} {message}")


def _error_of(answer: httpx.Response) -> dict[str, object]:
    try:
        error = answer.json().get("error", {})
    except (ValueError, AttributeError):
        return {}
    return error if isinstance(error, dict) else {}

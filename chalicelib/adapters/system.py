"""Time and chance from the operating system."""

import random
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Lock

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_CHANCE_BITS = 80
_LENGTH = 26


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The moment, in UTC and aware."""
        return datetime.now(UTC)

    def pause(self, seconds: float) -> None:
        """Return after so many seconds; at once for zero or less."""
        time.sleep(max(0.0, seconds))


class SystemIds:
    """Ids and chance from the system's generator. Job ids of one process only rise, also within a millisecond, when the clock is
    set back, and from many threads."""

    def __init__(self, *, milliseconds: Callable[[], int] = _milliseconds) -> None:
        self._milliseconds = milliseconds
        self._last = 0
        self._taking = Lock()

    def job_id(self) -> str:
        """``job-`` and a lower-case ULID: 48 bits of milliseconds, 80 of chance."""
        with self._taking:
            fresh = (self._milliseconds() << _CHANCE_BITS) | secrets.randbits(_CHANCE_BITS)
            # Within the same millisecond (or after the clock was set back) the next number keeps the order.
            is_later = fresh >> _CHANCE_BITS > self._last >> _CHANCE_BITS
            self._last = fresh if is_later else self._last + 1
            return "job-" + _spelled(self._last)

    def secret(self) -> str:
        """256 bits, URL-safe, 43 characters."""
        return secrets.token_urlsafe(32)

    def jitter(self) -> float:
        """A number in [0, 1); not for secrets."""
        return random.random()  # noqa: S311 - spreads retries, guards nothing


def _spelled(number: int) -> str:
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(5 * (_LENGTH - 1), -1, -5))

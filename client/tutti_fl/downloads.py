"""Objects of the bucket to files on disk."""

import os
from collections.abc import Callable
from pathlib import Path

import httpx

from tutti_fl.connections import open_http
from tutti_fl.errors import TransferFailed
from tutti_fl.shapes.files import SignedDownload
from tutti_fl.transport import Retries

Sign = Callable[[], SignedDownload]
Progress = Callable[[int], None]


def download(sign: Sign, to: Path, *, retries: Retries | None = None, progress: Progress = lambda _: None) -> Path:
    """Fetch the object to ``to``, which appears only when it is whole; ``sign`` is called again for every attempt.

    ``progress`` is told the number of bytes of each piece, a negative one when an attempt starts over.
    """
    retries = retries or Retries()
    to.parent.mkdir(parents=True, exist_ok=True)
    part = to.with_name(f".{to.name}.part")
    cause = ""
    try:
        for attempt in range(retries.tries):
            cause = _attempt(sign(), part, progress)
            if not cause:
                part.replace(to)
                return to
            retries.wait(attempt)
    finally:
        part.unlink(missing_ok=True)
    raise TransferFailed(to.name, cause)


def _attempt(signed: SignedDownload, part: Path, progress: Progress) -> str:
    """Write the object to ``part``; what went wrong, or nothing."""
    written = 0
    try:
        with part.open("wb") as file, _store() as http, http.stream("GET", signed.url) as answer:
            if answer.status_code != 200:
                return f"the store answered {answer.status_code}"
            for chunk in answer.iter_raw(1 << 20):
                written += file.write(chunk)
                progress(len(chunk))
            file.flush()
            os.fsync(file.fileno())
    except httpx.TransportError as error:
        progress(-written)
        return str(error) or type(error).__name__
    if written == signed.size:
        return ""
    progress(-written)
    return f"{written} bytes came, {signed.size} were announced"


def _store() -> httpx.Client:
    return open_http(headers={"Accept-Encoding": "identity"})

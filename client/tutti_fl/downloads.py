"""Objects of the bucket to files on disk: whole or not there, and again from where it broke off."""

import os
from collections.abc import Callable
from pathlib import Path

import httpx

from tutti_fl.connections import open_http
from tutti_fl.errors import TransferFailed
from tutti_fl.etags import is_damaged
from tutti_fl.meter import Meter, Progress
from tutti_fl.shapes.files import SignedDownload
from tutti_fl.store_answers import Verdict, no_answer, refused
from tutti_fl.transport import Retries

Sign = Callable[[], SignedDownload]


def download(
    sign: Sign, to: Path, *, retries: Retries | None = None, progress: Callable[[Progress], None] = lambda _: None
) -> Path:
    """Fetch the object to ``to``, which appears only when it is whole and its MD5 right; ``sign`` is called for every attempt.

    What came before a break stays in a hidden file beside it, named after the object's ETag, and is not fetched again, also not
    by another process later. An outage is sat out for about two minutes.
    """
    signed = sign()
    meter = Meter(1, signed.size, progress)
    patient = (retries or Retries()).patient(meter.trouble)
    to.parent.mkdir(parents=True, exist_ok=True)
    meter.found(_size(_part(to, signed)))
    refusals = 0
    for attempt in range(patient.tries):
        part = _part(to, signed)
        verdict = _attempt(signed, part, meter)
        if not verdict.cause:
            part.replace(to)
            _remove_parts(to)
            meter.add(0, files=1)
            return to
        refusals += not verdict.passing
        if refusals == patient.refusals or attempt == patient.tries - 1:
            break
        patient.wait(attempt if verdict.passing else 0, verdict.cause)
        signed = sign()
    raise TransferFailed(to.name, verdict.cause)


def _attempt(signed: SignedDownload, part: Path, meter: Meter) -> Verdict:
    """Fetch what ``part`` does not have yet; what is there and is certainly wrong is dropped."""
    if _size(part) < signed.size or signed.size == 0:
        verdict = _fetch(signed, part, meter)
        if verdict.cause:
            return verdict
    if (came := _size(part)) < signed.size:
        return Verdict(f"{came} bytes came, {signed.size} were announced", passing=True)
    if came > signed.size or is_damaged(part, signed.etag):
        part.unlink()
        meter.add(-came)
        return Verdict("it arrived damaged")
    return Verdict()


def _fetch(signed: SignedDownload, part: Path, meter: Meter) -> Verdict:
    start = _size(part)
    headers = {"Accept-Encoding": "identity"}
    if start:
        headers |= {"Range": f"bytes={start}-", "If-Match": f'"{signed.etag}"'}
    try:
        with open_http(headers=headers) as http, http.stream("GET", signed.url) as answer:
            if answer.status_code not in (200, 206):
                answer.read()
                return refused(answer)
            if answer.status_code == 200 and start:
                meter.add(-start)
            with part.open("ab" if answer.status_code == 206 else "wb") as file:
                for chunk in answer.iter_raw():
                    meter.add(file.write(chunk))
                file.flush()
                os.fsync(file.fileno())
    except httpx.TransportError as error:
        return no_answer(error)
    return Verdict()


def _part(to: Path, signed: SignedDownload) -> Path:
    """Where the beginning of exactly this object is kept."""
    etag = "".join(letter for letter in signed.etag if letter.isalnum() or letter == "-")
    return to.with_name(f".{to.name}.{etag}.part")


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _remove_parts(to: Path) -> None:
    """Beginnings of other objects that were to go here."""
    for left in to.parent.iterdir():
        if left.name.startswith(f".{to.name}.") and left.name.endswith(".part"):
            left.unlink(missing_ok=True)

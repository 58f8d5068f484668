"""What an object store's answer says of an attempt to send or fetch."""

import re
from dataclasses import dataclass

import httpx

_CODE, _MESSAGE = re.compile(r"<Code>([^<]+)</Code>"), re.compile(r"<Message>([^<]+)</Message>")
_DAMAGED = "it arrived damaged and was refused"
_IN_WORDS = {
    "BadDigest": _DAMAGED,
    "InvalidDigest": _DAMAGED,
    "NoSuchUpload": "the upload is no longer open",
    "RequestTimeTooSkewed": "the clocks of the platform and of the store are apart",
}


@dataclass(frozen=True)
class Verdict:
    """What became of one attempt: taken when there is no ``cause``."""

    cause: str = ""
    passing: bool = False
    """The store, or the way to it, is down: worth waiting for."""
    gone: bool = False
    """The store has no such upload any more."""
    etag: str = ""


def refused(answer: httpx.Response) -> Verdict:
    """An answer that is no success; its body must have been read."""
    busy = answer.status_code == 429 or answer.status_code >= 500
    return Verdict(_cause(answer), passing=busy, gone=answer.status_code == 404)


def no_answer(error: httpx.TransportError) -> Verdict:
    """The connection failed."""
    return Verdict(f"no answer from the store: {str(error) or type(error).__name__}", passing=True)


def etag_of(answer: httpx.Response) -> str:
    """The ETag without quotes; empty when there is none."""
    return str(answer.headers.get("ETag", "")).strip('"')


def _cause(answer: httpx.Response) -> str:
    code, message = _CODE.search(answer.text), _MESSAGE.search(answer.text)
    if code and code[1] in _IN_WORDS:
        return _IN_WORDS[code[1]]
    said = ": ".join(found[1].rstrip(".") for found in (code, message) if found)
    return f"the store answered {answer.status_code}" + (f" ({said})" if said else "")

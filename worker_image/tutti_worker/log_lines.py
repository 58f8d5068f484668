"""Raw output turned into log lines: progress bars folded, secrets masked, levels recognised."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from chalicelib.contracts.masking import MASK, masker

_LONGEST = 16_000
_JSON = json.JSONEncoder(ensure_ascii=False)  # json.dumps makes one for every line
_NVFLARE = re.compile(
    r"^(?P<t>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) - (?P<name>.*?) - (?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) - "
)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_KEY_BEGINS, _KEY_LINE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----\s*$"), re.compile(r"\s*[A-Za-z0-9+/]{16,76}={0,2}\s*$")
_TRACEBACK = "Traceback (most recent call last):"


@dataclass(frozen=True)
class LogLine:
    """One line as it is stored."""

    t: str
    level: str
    text: str

    def as_json(self) -> bytes:
        """The line as NDJSON, with its newline."""
        return _JSON.encode({"t": self.t, "level": self.level, "text": self.text}).encode() + b"\n"


class Lines:
    """Bytes of one pipe in, whole log lines out, secrets masked. What a carriage return overwrites is dropped."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._rest = b""
        self._mask = masker(secrets)
        self._in_traceback = self._in_key = False

    def feed(self, data: bytes) -> list[LogLine]:
        """The lines completed by ``data``."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LONGEST:
            kept = self._rest.rpartition(b"\r")[2]
            whole, self._rest = ([*whole, kept], b"") if len(kept) > _LONGEST else (whole, kept)
        return [line for raw in whole if (line := self._line(raw)) is not None]

    def finish(self) -> list[LogLine]:
        """The last line, when it had no end."""
        raw, self._rest = self._rest, b""
        return [line] if raw and (line := self._line(raw)) else []

    def _line(self, raw: bytes) -> LogLine | None:
        text = _folded(raw.decode("utf-8", errors="replace"))
        if not text.strip():
            return None
        return LogLine(datetime.now(UTC).isoformat(timespec="milliseconds"), self._level(text), self._masked(text))

    def _masked(self, text: str) -> str:
        if self._in_key and _KEY_LINE.match(text):
            return MASK
        self._in_key = bool(_KEY_BEGINS.search(text))
        return self._mask(text)[:_LONGEST]

    def _level(self, text: str) -> str:
        found = _NVFLARE.match(text)
        if found is not None:
            self._in_traceback = False
            return found["level"].lower()
        if text.startswith(_TRACEBACK):
            self._in_traceback = True
            return "error"
        inside = self._in_traceback
        if inside and not text[0].isspace():
            # The line that names the exception is the traceback's last.
            self._in_traceback = False
        return "error" if inside else "info"


def _folded(text: str) -> str:
    text = text.rstrip("\r")
    return _ESCAPES.sub("", text.rpartition("\r")[2]).rstrip()

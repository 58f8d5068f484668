"""Raw output turned into log lines: progress bars folded, secrets masked, levels recognised."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

_LONGEST = 16_000
_NVFLARE = re.compile(
    r"^(?P<t>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) - (?P<name>.*?) - (?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) - "
)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SECRET_PARTS = re.compile(
    r"(?i)(x-amz-signature|x-amz-credential|x-amz-security-token|signature|sig|token|awsaccesskeyid)=[^&\s\"'<>]+"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
_JWT = re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}")
_FIELD = re.compile(
    r"(?i)\b((?:auth|access|worker|refresh|id|api)?_?token(?:_signature)?|ssid|secret|password|api_?key)"
    r"(['\"]?\s*[:=]\s*['\"]?)([\w.~+/=-]{12,})"
)
_TRACEBACK = "Traceback (most recent call last):"


@dataclass(frozen=True)
class LogLine:
    """One line as it is stored."""

    t: str
    level: str
    text: str

    def as_json(self) -> bytes:
        """The line as NDJSON, with its newline."""
        return json.dumps({"t": self.t, "level": self.level, "text": self.text}, ensure_ascii=False).encode() + b"\n"


class Lines:
    """Bytes of one pipe in, whole log lines out. What a carriage return overwrites is dropped."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._rest = b""
        self._secrets = [secret for secret in secrets if len(secret) >= 8]
        self._in_traceback = False

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
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return mask(text)[:_LONGEST]

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


def mask(text: str) -> str:
    """The text without signatures in URLs, bearer tokens and NVFLARE's own credentials."""
    text = _SECRET_PARTS.sub(r"\1=***", text)
    text = _BEARER.sub(r"\1 ***", text)
    text = _JWT.sub("***", text)
    return _FIELD.sub(r"\1\2***", text)


def _folded(text: str) -> str:
    text = text.rstrip("\r")
    return _ESCAPES.sub("", text.rpartition("\r")[2]).rstrip()

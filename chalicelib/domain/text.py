"""Uploaded bytes as text."""

import codecs

from chalicelib.domain.errors import BadPlace

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(data: bytes) -> str:
    """The text in the encoding its byte order mark says, UTF-8 without one; the mark is dropped.

    Bytes that are not text in that encoding: UnicodeDecodeError.
    """
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    return data.decode(encoding)


def read(data: bytes, path: str) -> str:
    """As decode; what is not text: BadPlace with the line of the first wrong byte."""
    try:
        return decode(data)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        message = f"{path} is not UTF-8 text: byte {data[error.start]:#04x} in line {line}"
        raise BadPlace(message, path=path, line=line) from error


def place(text: str, position: int) -> tuple[int, int]:
    """Line and column, both from 1, of a position in a text."""
    before = text[:position]
    return before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1

"""Configs as people write them: JSON with comments tolerated, and every other mistake named with its line and column."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import NoReturn

from pydantic import JsonValue

from chalicelib.domain.errors import BadJson, BadPlace
from chalicelib.domain.text import place, read

Keys = tuple[str | int, ...]

_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\],:]|[^\s{}\[\],:"]+')


@dataclass(frozen=True)
class JsonText:
    """A JSON text and its value; ``path`` names the file in messages."""

    text: str
    value: JsonValue
    path: str | None = None

    def place(self, *keys: str | int) -> tuple[int | None, int | None]:
        """Line and column of the value under these keys; of the deepest one that is there when they are not."""
        places = dict(_walk(self.text))
        for end in range(len(keys), -1, -1):
            if keys[:end] in places:
                return place(self.text, places[keys[:end]][1])
        return None, None


def read_json(data: bytes | str, *, path: str | None = None, comments: bool = True) -> JsonText:
    """The value of a JSON text whose ``//`` and ``/* */`` comments are ignored outside strings (``comments``).

    NaN, Infinity, numbers out of range, trailing commas and a key given twice are refused: BadJson with line and column.
    """
    text = _text(data, path)
    plain = without_comments(text, path) if comments else text
    try:
        value = json.loads(plain, object_pairs_hook=_pairs, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        _refuse_syntax(plain, error, path)
    except _Refused as error:
        _refuse_token(plain, error.problem, path)
    except (ValueError, RecursionError) as error:
        raise BadJson(f"{_named(path)}: {_why_not_read(error)}", path=path) from error
    return JsonText(plain, value, path)


def without_comments(text: str, path: str | None = None) -> str:
    """The text with every comment replaced by blanks, so that all positions stay; a comment that never ends: BadJson."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        if found.startswith('"'):
            return found
        if found.startswith("/*") and not (len(found) >= 4 and found.endswith("*/")):
            _fail("a comment that begins with /* never ends", text, match.start(), path)
        return re.sub(r"[^\n]", " ", found)

    return _COMMENT.sub(blank, text)


class _Refused(Exception):
    """The parser met something that Python would accept and JSON does not."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def _pairs(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Refused("twice")
    return found


def _refuse(constant: str) -> NoReturn:
    raise _Refused(f"constant {constant}")


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise _Refused("range")
    return number


def _text(data: bytes | str, path: str | None) -> str:
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    try:
        return read(data, _named(path))
    except BadPlace as error:
        raise BadJson(error.message, path=path, line=error.line) from error


def _refuse_syntax(text: str, error: json.JSONDecodeError, path: str | None) -> NoReturn:
    before = text[: error.pos].rstrip()
    if before.endswith(",") and text[error.pos : error.pos + 1] in ("]", "}"):
        _fail(f"a comma before {text[error.pos]} is not JSON", text, len(before) - 1, path)
    _fail(error.msg[:1].lower() + error.msg[1:], text, error.pos, path)


def _refuse_token(text: str, problem: str, path: str | None) -> NoReturn:
    seen: set[Keys] = set()
    for keys, (word, position) in _walk(text):
        key = ".".join(map(str, keys))
        if word in ("NaN", "Infinity", "-Infinity") and problem == f"constant {word}":
            _fail(f"{key or 'the value'} is {word}, which is not JSON", text, position, path, key)
        if problem == "range" and word[:1] not in '{["tfn' and not isfinite(float(word)):
            _fail(f"{key or 'the value'} is {word}, which is out of range", text, position, path, key)
        if problem == "twice" and keys in seen:
            _fail(f"the key {key} is given twice", text, position, path, key)
        seen.add(keys)
    raise BadJson(f"{_named(path)} is not strict JSON", path=path)


def _walk(text: str) -> Iterator[tuple[Keys, tuple[str, int]]]:
    """Every value's keys, first word and position, of a text that is JSON but for NaN and the like."""
    stack: list[str | int] = []
    waits_for_key = False
    for match in _TOKEN.finditer(text):
        word = match.group()
        if word in "]}":
            stack.pop()
            waits_for_key = False
        elif word == ",":
            waits_for_key = isinstance(stack[-1], str)
            if isinstance(stack[-1], int):
                stack[-1] += 1
        elif waits_for_key:
            stack[-1] = str(json.loads(word, strict=False))
            waits_for_key = False
        elif word != ":":
            yield tuple(stack), (word, match.start())
            if word in "[{":
                stack.append(0 if word == "[" else "")
                waits_for_key = word == "{"


def _fail(problem: str, text: str, position: int, path: str | None, key: str | None = None) -> NoReturn:
    line, column = place(text, position)
    message = f"{_named(path)}: {problem} (line {line}, column {column})"
    raise BadJson(message, path=path, line=line, column=column, key=key or None)


def _why_not_read(error: ValueError | RecursionError) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else "a number has more than 4,300 digits"


def _named(path: str | None) -> str:
    return path or "the value"

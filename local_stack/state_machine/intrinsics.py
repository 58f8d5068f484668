"""Intrinsic functions: ``States.Format('{}-{}', $.a, 1)`` and its eighteen siblings, nested as deep as AWS allows."""

import base64
import hashlib
import json
import random
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from local_stack.state_machine import paths
from local_stack.state_machine.faults import INTRINSIC, Fault

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<call>States\.\w+)\s*\(
    | (?P<text>'(?:[^'\\]|\\.)*')
    | (?P<path>\${1,2}(?:[^\s,()'\[]|\['[^']*'\]|\[-?\d+\])*)
    | (?P<literal>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)
    | (?P<mark>[,)])
    )""",
    re.VERBOSE,
)
_MOST_DEEP = 10


@dataclass(frozen=True)
class Call:
    """A parsed intrinsic function."""

    name: str
    arguments: tuple["Expression", ...]


@dataclass(frozen=True)
class Path:
    """A reference path as an argument."""

    path: str


@dataclass(frozen=True)
class Literal:
    """A value written in the expression."""

    value: JsonValue


Expression = Call | Path | Literal


def parse(text: str) -> Expression:
    """The expression after a ``.$`` field: a path or an intrinsic function; ValueError says where it goes wrong."""
    if text.startswith("$"):
        paths.steps(text)
        return Path(text)
    expression, end = _expression(text, 0, 0)
    if text[end:].strip() or not isinstance(expression, Call):
        raise ValueError(f"{text!r} is neither a path nor one intrinsic function")
    return expression


def _expression(text: str, start: int, depth: int) -> tuple[Expression, int]:
    found = _TOKEN.match(text, start)
    if found is None or found["mark"]:
        raise ValueError(f"{text!r} cannot be read at position {start}")
    if found["call"]:
        return _call(found["call"], text, found.end(), depth + 1)
    if found["path"]:
        paths.steps(found["path"])
        return Path(found["path"]), found.end()
    literal = _unquoted(found["text"]) if found["text"] else json.loads(found["literal"])
    return Literal(literal), found.end()


def _call(name: str, text: str, position: int, depth: int) -> tuple[Call, int]:
    if name not in FUNCTIONS:
        raise ValueError(f"{name} is no intrinsic function")
    if depth > _MOST_DEEP:
        raise ValueError(f"{text!r} nests functions deeper than {_MOST_DEEP}")
    arguments: list[Expression] = []
    while True:
        mark = _TOKEN.match(text, position)
        if mark and mark["mark"] == ")" and not arguments:
            return Call(name, ()), mark.end()
        argument, position = _expression(text, position, depth)
        arguments.append(argument)
        mark = _TOKEN.match(text, position)
        if mark is None or not mark["mark"]:
            raise ValueError(f"{text!r}: a comma or ) is missing at position {position}")
        position = mark.end()
        if mark["mark"] == ")":
            return Call(name, tuple(arguments)), position


def _unquoted(text: str) -> str:
    # A backslash before a brace stays: Format tells an escaped brace from a slot by it.
    return re.sub(r"\\(['\\])", r"\1", text[1:-1])


def evaluate(expression: Expression, value: JsonValue, context: JsonValue) -> JsonValue:
    """Its value on this input. A function that cannot work on its arguments: States.IntrinsicFailure."""
    if isinstance(expression, Literal):
        return expression.value
    if isinstance(expression, Path):
        return paths.get(expression.path, value, context)
    arguments = [evaluate(argument, value, context) for argument in expression.arguments]
    try:
        return FUNCTIONS[expression.name](*arguments)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, StopIteration) as error:
        raise Fault(INTRINSIC, f"{expression.name} failed on its arguments: {error}") from error


def _format(template: str, *values: JsonValue) -> str:
    slots = iter(values)
    text = re.sub(r"\\[{}]|\{\}", lambda m: m[0][1:] if m[0].startswith("\\") else _shown(next(slots)), template)
    if next(slots, None) is not None:
        raise ValueError("there are more values than {}")
    return text


def _shown(value: JsonValue) -> str:
    return value if isinstance(value, str) else compact(value)


def compact(value: JsonValue) -> str:
    """JSON without spaces, as AWS writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _range(first: int, last: int, step: int) -> list[JsonValue]:
    numbers = range(first, last + (1 if step > 0 else -1), step)
    if len(numbers) > 1000:
        raise ValueError("more than 1,000 numbers")
    return list(numbers)


def _partition(items: list[JsonValue], size: int) -> list[JsonValue]:
    if not isinstance(items, list):
        raise TypeError("not an array")
    return [items[i : i + size] for i in range(0, len(items), size)]


def _unique(items: list[JsonValue]) -> list[JsonValue]:
    return [item for i, item in enumerate(items) if item not in items[:i]]


def _merge(first: dict[str, JsonValue], second: dict[str, JsonValue], deep: bool) -> JsonValue:
    if deep:
        raise ValueError("only the shallow mode (false) exists")
    return {**first, **second}


def _hash(value: JsonValue, algorithm: str) -> str:
    # The algorithms are the caller's choice, MD5 and SHA-1 among them.
    return hashlib.new(algorithm.replace("SHA-", "sha").lower(), _shown(value).encode(), usedforsecurity=False).hexdigest()


def _random(low: int, high: int, seed: int | None = None) -> int:
    return random.Random(seed).randrange(low, high)  # noqa: S311  (a number for a definition, no secret)


def _split(text: str, marks: str) -> list[JsonValue]:
    return [part for part in re.split("[" + re.escape(marks) + "]", text) if part]


def _item(items: list[JsonValue], index: int) -> JsonValue:
    if index < 0:
        raise IndexError("the index is negative")
    return items[index]


FUNCTIONS: Mapping[str, Callable[..., JsonValue]] = {
    "States.Format": _format,
    "States.StringToJson": json.loads,
    "States.JsonToString": compact,
    "States.Array": lambda *items: list(items),
    "States.ArrayPartition": _partition,
    "States.ArrayContains": lambda items, item: item in items,
    "States.ArrayRange": _range,
    "States.ArrayGetItem": _item,
    "States.ArrayLength": len,
    "States.ArrayUnique": _unique,
    "States.Base64Encode": lambda text: base64.b64encode(text.encode()).decode(),
    "States.Base64Decode": lambda text: base64.b64decode(text).decode(),
    "States.Hash": _hash,
    "States.JsonMerge": _merge,
    "States.MathRandom": _random,
    "States.MathAdd": lambda first, second: first + second,
    "States.StringSplit": _split,
    "States.UUID": lambda: str(uuid.uuid4()),
}

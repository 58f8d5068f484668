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
from local_stack.state_machine.payload import compact, parsed

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
_MOST_NUMBERS = 1000
_LONGEST_TEXT = 10_000
_ALGORITHMS = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}


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
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, StopIteration) as error:
        raise Fault(INTRINSIC, f"{expression.name} failed on its arguments: {error}") from error


def _format(template: str, *values: JsonValue) -> str:
    slots = iter(values)
    text = re.sub(r"\\[{}]|\{\}", lambda m: m[0][1:] if m[0].startswith("\\") else _shown(next(slots)), template)
    if next(slots, None) is not None:
        raise ValueError("there are more values than {}")
    return text


def _shown(value: JsonValue) -> str:
    return value if isinstance(value, str) else compact(value)


# The functions are strict about their arguments: AWS knows no truth values that are numbers and no texts that are arrays.


def _array(value: JsonValue) -> list[JsonValue]:
    if not isinstance(value, list):
        raise TypeError(f"{compact(value)} is no array")
    return value


def _number(value: JsonValue) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{compact(value)} is no number")
    return round(value)


def _short(value: JsonValue) -> bytes:
    text = _shown(value)
    if len(text) > _LONGEST_TEXT:
        raise ValueError(f"the text is longer than {_LONGEST_TEXT} characters")
    return text.encode()


def _same(first: JsonValue, second: JsonValue) -> bool:
    # To Python, true equals 1; to JSON it does not.
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_same(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_same, first, second))
    return isinstance(first, bool) == isinstance(second, bool) and first == second


def _contains(items: JsonValue, item: JsonValue) -> bool:
    return any(_same(item, other) for other in _array(items))


def _range(first: JsonValue, last: JsonValue, step: JsonValue) -> list[JsonValue]:
    by = _number(step)
    numbers = range(_number(first), _number(last) + (1 if by > 0 else -1), by)
    if len(numbers) > _MOST_NUMBERS:
        raise ValueError(f"more than {_MOST_NUMBERS} numbers")
    return list(numbers)


def _partition(items: JsonValue, size: JsonValue) -> list[JsonValue]:
    array, by = _array(items), _number(size)
    if by < 1:
        raise ValueError("a part has at least one item")
    return [array[i : i + by] for i in range(0, len(array), by)]


def _unique(items: JsonValue) -> list[JsonValue]:
    array = _array(items)
    return [item for i, item in enumerate(array) if not _contains(array[:i], item)]


def _merge(first: dict[str, JsonValue], second: dict[str, JsonValue], deep: bool) -> JsonValue:
    if deep is not False:
        raise ValueError("only the shallow mode (false) exists")
    return {**first, **second}


def _hash(value: JsonValue, algorithm: JsonValue) -> str:
    # The algorithms are the caller's choice, MD5 and SHA-1 among them.
    return hashlib.new(_ALGORITHMS[str(algorithm)], _short(value), usedforsecurity=False).hexdigest()


def _random(low: JsonValue, high: JsonValue, seed: JsonValue = None) -> int:
    chance = random.Random(None if seed is None else _number(seed))  # noqa: S311  (a number for a definition, no secret)
    return chance.randrange(_number(low), _number(high))


def _split(text: str, marks: str) -> list[JsonValue]:
    return [part for part in re.split("[" + re.escape(marks) + "]", text) if part] if marks else [text]


def _item(items: JsonValue, index: JsonValue) -> JsonValue:
    if _number(index) < 0:
        raise IndexError("the index is negative")
    return _array(items)[_number(index)]


FUNCTIONS: Mapping[str, Callable[..., JsonValue]] = {
    "States.Format": _format,
    "States.StringToJson": parsed,
    "States.JsonToString": compact,
    "States.Array": lambda *items: list(items),
    "States.ArrayPartition": _partition,
    "States.ArrayContains": _contains,
    "States.ArrayRange": _range,
    "States.ArrayGetItem": _item,
    "States.ArrayLength": lambda items: len(_array(items)),
    "States.ArrayUnique": _unique,
    "States.Base64Encode": lambda text: base64.b64encode(_short(text)).decode(),
    "States.Base64Decode": lambda text: base64.b64decode(_short(text)).decode(),
    "States.Hash": _hash,
    "States.JsonMerge": _merge,
    "States.MathRandom": _random,
    "States.MathAdd": lambda first, second: _number(first) + _number(second),
    "States.StringSplit": _split,
    "States.UUID": lambda: str(uuid.uuid4()),
}

"""JSON as AWS writes and reads it."""

import json

from pydantic import JsonValue


def compact(value: JsonValue) -> str:
    """JSON without spaces. What JSON has no text for, such as NaN: ValueError."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def parsed(text: str) -> JsonValue:
    """The value of a JSON text. Anything else, NaN and Infinity too: ValueError."""
    value: JsonValue = json.loads(text, parse_constant=_no_constant)
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")

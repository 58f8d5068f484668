"""Reference paths: the part of JSONPath that names one place, such as ``$.plan.sites[0]`` or ``$$.Task.Token``."""

import re
from collections.abc import Sequence

from pydantic import JsonValue

from local_stack.state_machine.faults import RESULT_PATH, Fault, PathNotFound

_STEP = re.compile(r"""\.([^\s.\[\]'"(),*?@]+)|\[(-?\d+)\]|\['((?:[^'\\]|\\.)+)'\]""")

Steps = tuple[str | int, ...]


def steps(path: str) -> Steps:
    """The keys and indices of a path after its ``$`` or ``$$``; ValueError when it is not a reference path."""
    position = 2 if path.startswith("$$") else 1
    found: list[str | int] = []
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None or not path.startswith("$"):
            raise ValueError(f"{path!r} is no reference path; only names, ['names'] and [indices] after a $ are supported")
        name, index, quoted = step.groups()
        found.append(int(index) if index else name or quoted.replace("\\'", "'"))
        position = step.end()
    if not path.startswith("$"):
        raise ValueError(f"{path!r} does not start with $")
    return tuple(found)


def get(path: str, value: JsonValue, context: JsonValue) -> JsonValue:
    """What is there; ``$$`` looks in the context. Nothing there: PathNotFound."""
    here = context if path.startswith("$$") else value
    for step in steps(path):
        here = _down(here, step, path)
    return here


def _down(here: JsonValue, step: str | int, path: str) -> JsonValue:
    if isinstance(step, str) and isinstance(here, dict) and step in here:
        return here[step]
    if isinstance(step, int) and isinstance(here, list) and -len(here) <= step < len(here):
        return here[step]
    raise PathNotFound(path)


def put(path: str, value: JsonValue, new: JsonValue) -> JsonValue:
    """A copy of ``value`` with ``new`` at the path, objects made on the way. Where it cannot be: ResultPathMatchFailure."""
    return _put(value, steps(path), new, path)


def _put(value: JsonValue, rest: Sequence[str | int], new: JsonValue, path: str) -> JsonValue:
    if not rest:
        return new
    step = rest[0]
    if isinstance(step, str) and isinstance(value, dict):
        return {**value, step: _put(value.get(step, {}), rest[1:], new, path)}
    if isinstance(step, int) and isinstance(value, list) and 0 <= step < len(value):
        return [*value[:step], _put(value[step], rest[1:], new, path), *value[step + 1 :]]
    raise Fault(RESULT_PATH, f"The ResultPath '{path}' does not fit the input of the state")

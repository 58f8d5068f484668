"""Payload templates: Parameters, ItemSelector and ResultSelector, whose fields ending in ``.$`` are looked up."""

from collections.abc import Iterator

from pydantic import JsonValue

from local_stack.state_machine import intrinsics
from local_stack.state_machine.faults import PARAMETER_PATH, Fault, PathNotFound


def filled(template: JsonValue, value: JsonValue, context: JsonValue) -> JsonValue:
    """The template with every ``.$`` field replaced. A path that leads nowhere: States.ParameterPathFailure."""
    if isinstance(template, list):
        return [filled(item, value, context) for item in template]
    if not isinstance(template, dict):
        return template
    return dict(_field(key, item, value, context) for key, item in template.items())


def _field(key: str, item: JsonValue, value: JsonValue, context: JsonValue) -> tuple[str, JsonValue]:
    if not key.endswith(".$"):
        return key, filled(item, value, context)
    try:
        return key[:-2], intrinsics.evaluate(intrinsics.parse(str(item)), value, context)
    except PathNotFound as error:
        raise Fault(PARAMETER_PATH, f"{error.cause}, for the field '{key}'") from error


def expressions(template: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Every ``.$`` field in it, with its value: for the checks of a definition."""
    if isinstance(template, list):
        for item in template:
            yield from expressions(item)
    if isinstance(template, dict):
        for key, item in template.items():
            if key.endswith(".$"):
                yield key, item
            else:
                yield from expressions(item)

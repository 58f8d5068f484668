"""The rules of a Choice state."""

import re
from collections.abc import Callable, Mapping

from pydantic import JsonValue

from local_stack.state_machine import paths
from local_stack.state_machine.faults import RUNTIME, Fault, PathNotFound
from local_stack.state_machine.moments import moment

Rule = Mapping[str, JsonValue]

_ORDERS: Mapping[str, Callable[[int], bool]] = {
    "Equals": lambda order: order == 0,
    "LessThan": lambda order: order < 0,
    "GreaterThan": lambda order: order > 0,
    "LessThanEquals": lambda order: order <= 0,
    "GreaterThanEquals": lambda order: order >= 0,
}
_COMPARISON = re.compile(f"(String|Numeric|Boolean|Timestamp)({'|'.join(_ORDERS)})(Path)?")
_BESIDES = frozenset({"Variable", "Next", "Comment"})


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_KINDS: Mapping[str, Callable[[JsonValue], bool]] = {
    "IsNull": lambda value: value is None,
    "IsString": lambda value: isinstance(value, str),
    "IsNumeric": _is_number,
    "IsBoolean": lambda value: isinstance(value, bool),
    "IsTimestamp": lambda value: moment(value) is not None,
}


def check(rule: Rule, *, nested: bool = False) -> None:
    """ValueError when AWS would not take the rule, or this interpreter cannot follow it."""
    if not nested and not isinstance(rule.get("Next"), str):
        raise ValueError("a rule of a Choice needs its Next")
    operators = [key for key in rule if key not in _BESIDES]
    if len(operators) != 1:
        raise ValueError(f"a rule of a Choice needs exactly one operator, this one has {operators}")
    operator, wanted = operators[0], rule[operators[0]]
    if operator in ("And", "Or", "Not"):
        for inner in _inner(wanted):
            check(inner, nested=True)
        return
    paths.steps(str(rule.get("Variable")))
    comparison = _COMPARISON.fullmatch(operator)
    if comparison is None and operator not in {*_KINDS, "IsPresent", "StringMatches"}:
        raise ValueError(f"{operator} is no operator of a Choice")
    if comparison and comparison[3]:
        paths.steps(str(wanted))


def _inner(wanted: JsonValue) -> list[Rule]:
    return [rule for rule in (wanted if isinstance(wanted, list) else [wanted]) if isinstance(rule, dict)]


def holds(rule: Rule, value: JsonValue, context: JsonValue) -> bool:
    """Whether the rule is true of the input. A Variable that is not there, but for IsPresent: States.Runtime."""
    operator = next(key for key in rule if key not in _BESIDES)
    wanted = rule[operator]
    if operator == "And":
        return all(holds(inner, value, context) for inner in _inner(wanted))
    if operator == "Or":
        return any(holds(inner, value, context) for inner in _inner(wanted))
    if operator == "Not":
        return not holds(_inner(wanted)[0], value, context)
    variable = str(rule["Variable"])
    try:
        found = paths.get(variable, value, context)
    except PathNotFound as error:
        if operator == "IsPresent":
            return wanted is False
        cause = f"Invalid path '{variable}': The choice state's condition path references an invalid value."
        raise Fault(RUNTIME, cause) from error
    return _holds(operator, found, wanted, value, context)


def _holds(operator: str, found: JsonValue, wanted: JsonValue, value: JsonValue, context: JsonValue) -> bool:
    if operator == "IsPresent":
        return wanted is True
    if operator in _KINDS:
        return _KINDS[operator](found) == wanted
    if operator == "StringMatches":
        return isinstance(found, str) and _pattern(str(wanted)).fullmatch(found) is not None
    comparison = _COMPARISON.fullmatch(operator)
    assert comparison is not None  # noqa: S101  (check() has seen every rule)
    kind, order, by_path = comparison.groups()
    other = paths.get(str(wanted), value, context) if by_path else wanted
    difference = _difference(kind, found, other)
    return difference is not None and _ORDERS[order](difference)


def _pattern(wanted: str) -> re.Pattern[str]:
    pieces = re.findall(r"\\.|\*|[^\\*]+", wanted, re.DOTALL)
    return re.compile("".join(".*" if piece == "*" else re.escape(piece.removeprefix("\\")) for piece in pieces), re.DOTALL)


def _difference(kind: str, found: JsonValue, other: JsonValue) -> int | None:
    """Below, at or above zero as ``found`` lies to ``other``; None when one is not of the kind."""
    if kind == "String" and isinstance(found, str) and isinstance(other, str):
        return (found > other) - (found < other)
    if kind == "Boolean" and isinstance(found, bool) and isinstance(other, bool):
        return found - other
    if kind == "Numeric" and _is_number(found) and _is_number(other):
        return (found > other) - (found < other)  # type: ignore[operator]
    first, second = moment(found), moment(other)
    if kind == "Timestamp" and first and second:
        return (first > second) - (first < second)
    return None

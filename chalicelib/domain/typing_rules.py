"""What a typed value is, and which names a parameter may have."""

import json
import re
from collections.abc import Callable, Sequence
from keyword import iskeyword
from math import isfinite

from pydantic import JsonValue

from chalicelib.contracts.wizard import Parameter
from chalicelib.domain.errors import BadJson, BadValue, InvalidRequest
from chalicelib.domain.json_text import read_json

EXECUTOR_ARGUMENTS = (
    "data_root",
    "adapter_module",
    "train_fn",
    "validate_fn",
    "submit_fn",
    "dataset",
    "manifest_file",
    "cache_dir_name",
    "out_dir_name",
)
"""What the executor takes beside the parameters."""
PLATFORM_NAMES = ("CACHE_DIR", "SITE_NAME", "JOB_ID", "CURRENT_ROUND", "NUM_ROUNDS", "DEVICE", "STATE_DIR")
"""What the platform itself puts into the training function's environment."""

_RESERVED = {name.upper() for name in (*EXECUTOR_ARGUMENTS, *PLATFORM_NAMES)}
_NVFLARE_WORDS = ("class_attributes", "self")
_BLANKS = " \t\r\n"
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_MOST_DIGITS = 4300


def parse_value(typed: str) -> JsonValue:
    """What a typed value means: number, boolean, list, object or text; BadValue with line and column when it begins like
    JSON and is not, and for a number out of range."""
    text = typed.strip(_BLANKS)
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.fullmatch(text):
        return _number(text)
    return _json(typed) if text[:1] in ("[", "{") else text


def write_json(value: JsonValue) -> str:
    """The one spelling in which values are written: ASCII, ``", "`` and ``": "``, integers exact, ``3.0`` as ``3.0``."""
    return json.dumps(value, allow_nan=False)


def value_of(parameter: Parameter) -> JsonValue:
    """The value of a parameter, whichever way it was given."""
    return parameter.value if parameter.typed is None else parse_value(parameter.typed)


def parameter_problem(name: str) -> str | None:
    """Why a training parameter cannot have this name; None when it can."""
    if name.upper() in _RESERVED:
        return f"{name} is set by the platform; choose another name"
    return argument_problem(name)


def argument_problem(name: str) -> str | None:
    """Why an argument cannot have this name; None when it can."""
    if not name.isidentifier():
        return f"{name!r} is not a Python name: letters, digits and _ only, not beginning with a digit"
    if iskeyword(name):
        return f"{name} is a keyword of Python"
    if name.startswith("__") and name.endswith("__"):
        return f"{name} has a name that Python keeps for itself"
    return f"{name} has a meaning of its own in NVFLARE" if name in _NVFLARE_WORDS else None


def check_parameters(parameters: Sequence[Parameter], *, field: str = "training.parameters") -> dict[str, JsonValue]:
    """The training parameters by name, in order; InvalidRequest whose ``fields`` name each bad one as ``field.index.name``."""
    return _checked(parameters, field, parameter_problem, str.upper)


def check_arguments(parameters: Sequence[Parameter], *, field: str = "model.arguments") -> dict[str, JsonValue]:
    """The model class's arguments by name, in order; InvalidRequest as in check_parameters."""
    return _checked(parameters, field, argument_problem, str)


def _checked(
    parameters: Sequence[Parameter], field: str, problem: Callable[[str], str | None], fold: Callable[[str], str]
) -> dict[str, JsonValue]:
    values: dict[str, JsonValue] = {}
    wrong: dict[str, str] = {}
    first: dict[str, str] = {}
    for index, parameter in enumerate(parameters):
        earlier = first.setdefault(fold(parameter.name), parameter.name)
        why = problem(parameter.name) or (f"{earlier} is there already" if parameter.name in values else None)
        if why is None and earlier != parameter.name:
            why = f"{parameter.name} and {earlier} are the same name in capitals"
        if why:
            wrong[f"{field}.{index}.name"] = why
        try:
            values[parameter.name] = value_of(parameter)
        except BadValue as error:
            wrong[f"{field}.{index}.typed"] = f"{parameter.name}: {error.message}"
    if wrong:
        raise InvalidRequest("; ".join(wrong.values()), fields=wrong)
    return values


def _number(text: str) -> int | float:
    if _INTEGER.fullmatch(text):
        if len(text) > _MOST_DIGITS:
            raise BadValue(f"the number has more than {_MOST_DIGITS:,} digits", line=1, column=1)
        return int(text)
    number = float(text)
    if not isfinite(number):
        raise BadValue(f"{text} is out of range; the largest number is about 1.8e308", line=1, column=1)
    return number


def _json(text: str) -> JsonValue:
    try:
        return read_json(text.strip(_BLANKS), comments=False).value
    except BadJson as error:
        raise BadValue(error.message, line=error.line, column=error.column, key=error.key) from error

"""The kinds of text a definition holds, checked when it is read."""

from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue

from local_stack.state_machine import intrinsics, paths, templates
from local_stack.state_machine.moments import moment

MOST_SECONDS = 99_999_999


def _is_path(path: str | None) -> str | None:
    if path is not None:
        paths.steps(path)
    return path


def _is_own_path(path: str | None) -> str | None:
    if path is not None and path.startswith("$$"):
        raise ValueError(f"{path!r} would write into the context")
    return _is_path(path)


def _is_expression(text: str) -> str:
    intrinsics.parse(text)
    return text


def _is_template(template: JsonValue) -> JsonValue:
    for key, text in templates.expressions(template):
        if not isinstance(text, str):
            raise ValueError(f"the field {key!r} needs a path or an intrinsic function")
        intrinsics.parse(text)
    return template


def _is_moment(text: str) -> str:
    if moment(text) is None:
        raise ValueError(f"{text!r} is no timestamp such as 2030-01-31T12:00:00Z")
    return text


PathText = Annotated[str, AfterValidator(_is_path)]
OptionalPath = Annotated[str | None, AfterValidator(_is_path)]
ResultPath = Annotated[str | None, AfterValidator(_is_own_path)]
Expression = Annotated[str, AfterValidator(_is_expression)]
Template = Annotated[JsonValue, AfterValidator(_is_template)]
Seconds = Annotated[int, Field(ge=0, le=MOST_SECONDS)]
Moment = Annotated[str, AfterValidator(_is_moment)]

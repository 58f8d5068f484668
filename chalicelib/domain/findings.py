"""How a rule says what it found."""

from typing import TypedDict, Unpack

from chalicelib.contracts.report import Finding, Level
from chalicelib.domain.errors import BadConfig, BadPlace


class Where(TypedDict, total=False):
    """The place of a finding and the next step; see Finding."""

    hint: str
    path: str | None
    line: int | None
    column: int | None
    key: str | None
    entry: str | None


def error(code: str, message: str, **where: Unpack[Where]) -> Finding:
    """A finding that blocks the launch."""
    return Finding(code=code, level=Level.ERROR, message=message, **where)


def warning(code: str, message: str, **where: Unpack[Where]) -> Finding:
    """A finding that the user should look at before paying."""
    return Finding(code=code, level=Level.WARNING, message=message, **where)


def note(code: str, message: str, **where: Unpack[Where]) -> Finding:
    """A finding that only informs."""
    return Finding(code=code, level=Level.NOTE, message=message, **where)


def from_error(problem: BadPlace, code: str | None = None) -> Finding:
    """The error finding for a mistake with a place; its code is ``code``, else the one a BadConfig carries."""
    code = code or (problem.finding if isinstance(problem, BadConfig) else problem.code)
    return error(
        code,
        problem.message,
        path=problem.path,
        line=problem.line,
        column=problem.column,
        key=problem.key or None,
    )

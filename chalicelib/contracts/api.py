"""Answers that belong to no noun of their own."""

from pydantic import Field

from chalicelib.contracts.base import Lenient, Strict


class ErrorBody(Lenient):
    """What went wrong, which fields are to blame, what to do next, and the id to report."""

    code: str
    message: str
    hint: str = ""
    fields: dict[str, str] = Field(default_factory=dict)
    request_id: str


class ErrorAnswer(Lenient):
    """Every answer with a status of 400 or above."""

    error: ErrorBody


class Health(Lenient):
    """The API answers."""

    status: str
    version: str


class FileWish(Strict):
    """One object of the user's bucket."""

    key: str = Field(min_length=1, max_length=1024)

"""Timestamps of the language: RFC 3339 with a capital T, a time and a zone."""

import re
from datetime import datetime

from pydantic import JsonValue

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


def moment(value: JsonValue) -> datetime | None:
    """The moment that the text names; None when it is no timestamp."""
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None

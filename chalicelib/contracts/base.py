"""The two temperaments of a contract: strict towards users, lenient towards storage and peers."""

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict


def _is_aware(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("a time needs its zone")
    return value


Instant = Annotated[datetime, AfterValidator(_is_aware)]
"""A moment with its zone; UTC everywhere in Tutti, ISO 8601 in JSON."""


class Strict(BaseModel):
    """Input from a user: an unknown field is refused, so a typing error is never silently ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Lenient(BaseModel):
    """Read back from storage or a peer: an unknown field is ignored, so old and new versions live side by side."""

    model_config = ConfigDict(extra="ignore", frozen=True)

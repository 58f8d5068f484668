"""The two temperaments of a contract: strict towards users, lenient towards storage and peers."""

from datetime import datetime
from math import isfinite
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from chalicelib.contracts.masking import mask


def _is_aware(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("a time needs its zone")
    return value


Instant = Annotated[datetime, AfterValidator(_is_aware)]
"""A moment with its zone; UTC everywhere in Tutti, ISO 8601 in JSON."""

Said = Annotated[str, AfterValidator(mask)]
"""Words that may quote what user code or a library said; a secret among them is masked when the model is made."""


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None


Measured = Annotated[float | None, AfterValidator(_finite)]
"""A number that user code reported; None when it is not finite, which no strict JSON parser and no chart could take."""


class Strict(BaseModel):
    """Input from a user: an unknown field is refused, so a typing error is never silently ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Lenient(BaseModel):
    """Read back from storage or a peer: an unknown field is ignored, so old and new versions live side by side."""

    model_config = ConfigDict(extra="ignore", frozen=True)

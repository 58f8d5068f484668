"""Job ids carry the moment they were made: ``job-`` and a lower-case ULID."""

from datetime import UTC, datetime

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def made_at(job_id: str) -> datetime:
    """When the id was made, to the millisecond (https://github.com/ulid/spec: the first ten characters)."""
    milliseconds = 0
    for character in job_id.removeprefix("job-")[:10]:
        milliseconds = milliseconds * 32 + _ALPHABET.index(character)
    return datetime.fromtimestamp(milliseconds / 1000, tz=UTC)

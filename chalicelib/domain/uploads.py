"""How a file is cut into parts, and which keys may be written."""

import math
import unicodedata

from chalicelib.contracts.files import Part
from chalicelib.domain.errors import InvalidRequest, UploadIncomplete

MIB = 2**20
SMALLEST_PART = 8 * MIB
MOST_PARTS = 9000


def part_size(size: int) -> int:
    """Bytes of every part but the last: 8 MiB, or what keeps a file within 9,000 parts, in whole MiB (S3's limit is 10,000)."""
    return max(SMALLEST_PART, math.ceil(size / MOST_PARTS / MIB) * MIB)


def part_count(size: int) -> int:
    """How many parts a file has; an empty file has one empty part."""
    return max(1, math.ceil(size / part_size(size)))


def size_of_part(size: int, number: int) -> int:
    """Bytes of part ``number`` (from 1). A number outside the file: InvalidRequest."""
    if not 1 <= number <= part_count(size):
        raise InvalidRequest(f"part {number} is outside 1 … {part_count(size)}", fields={"numbers": str(number)})
    return min(part_size(size), size - (number - 1) * part_size(size))


def check_complete(size: int, parts: tuple[Part, ...]) -> None:
    """Every part is there with its exact size, else UploadIncomplete names the first that is not."""
    have = {part.number: part.size for part in parts}
    for number in range(1, part_count(size) + 1):
        wanted = size_of_part(size, number)
        if have.get(number) != wanted:
            there = "missing" if number not in have else f"{have[number]} bytes long in place of {wanted}"
            total = str(sum(have.values()))
            raise UploadIncomplete(f"part {number} is {there}", fields={"part": str(number), "bytes_stored": total})
    extra = sorted(set(have) - set(range(1, part_count(size) + 1)))
    if extra:
        raise UploadIncomplete(f"part {extra[0]} lies behind the end of the file", fields={"part": str(extra[0])})


def check_key(key: str) -> None:
    """A key that every S3 tool and every worker can name: no empty, ``.`` or ``..`` segment, no control character."""
    segments = key.split("/")
    wrong = next((s for s in segments if s in ("", ".", "..")), None)
    if wrong is not None:
        raise InvalidRequest(f"the key {key!r} has the segment {wrong!r}", fields={"key": "use plain folder and file names"})
    if any(unicodedata.category(c).startswith("C") for c in key):
        raise InvalidRequest(f"the key {key!r} has a control character", fields={"key": "use printable characters"})
    if len(key.encode()) > 1024:
        raise InvalidRequest("the key is longer than 1,024 bytes", fields={"key": "use a shorter name"})

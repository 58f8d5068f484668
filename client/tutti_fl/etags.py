"""Is the object in the bucket the file on disk? Told by size and ETag, without a transfer."""

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path

from tutti_fl.shapes.files import ObjectInfo

MIB = 2**20


def is_same(path: Path, there: ObjectInfo) -> bool:
    """True only if the bytes are equal; False also where the store's ETags are not made of MD5s."""
    size = path.stat().st_size
    if size != there.size:
        return False
    if "-" not in there.etag:
        return _md5(path, 0, size) == there.etag
    part = max(8 * MIB, math.ceil(size / 9000 / MIB) * MIB)
    digests = [bytes.fromhex(_md5(path, start, part)) for start in range(0, max(size, 1), part)]
    return f"{hashlib.md5(b''.join(digests), usedforsecurity=False).hexdigest()}-{len(digests)}" == there.etag


def _md5(path: Path, start: int, length: int) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    for chunk in chunks(path, start, length):
        digest.update(chunk)
    return digest.hexdigest()


def chunks(path: Path, start: int, length: int, size: int = MIB) -> Iterator[bytes]:
    """The bytes of a piece of a file, up to ``length`` or to the file's end."""
    with path.open("rb") as file:
        file.seek(start)
        while length > 0 and (chunk := file.read(min(size, length))):
            length -= len(chunk)
            yield chunk

"""Are the bytes in the store those on disk? Told by size and ETag, without a transfer."""

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tutti_fl.shapes.files import ObjectInfo

MIB = 2**20
_MD5 = re.compile(r"[0-9a-f]{32}")


def is_same(path: Path, there: ObjectInfo) -> bool:
    """True only if the bytes are equal; False also where the store's ETags are not made of MD5s."""
    size = path.stat().st_size
    if size != there.size:
        return False
    if "-" not in there.etag:
        return md5(path, 0, size).hex() == there.etag
    part = max(8 * MIB, math.ceil(size / 9000 / MIB) * MIB)
    return etag_of_parts([md5(path, start, part) for start in range(0, max(size, 1), part)]) == there.etag


def is_damaged(path: Path, etag: str) -> bool:
    """True only if the bytes are certainly others; an ETag that is no MD5 of the whole says nothing."""
    return _MD5.fullmatch(etag) is not None and md5(path, 0, path.stat().st_size).hex() != etag


def etag_of_parts(digests: Sequence[bytes]) -> str:
    """The ETag of an object made of parts with these MD5s."""
    return f"{hashlib.md5(b''.join(digests), usedforsecurity=False).hexdigest()}-{len(digests)}"


def md5(path: Path, start: int, length: int) -> bytes:
    """The MD5 of a piece of a file, which is what S3 checks an arriving part against."""
    digest = hashlib.md5(usedforsecurity=False)
    for chunk in chunks(path, start, length):
        digest.update(chunk)
    return digest.digest()


def chunks(path: Path, start: int, length: int, size: int = MIB) -> Iterator[bytes]:
    """The bytes of a piece of a file, up to ``length`` or to the file's end."""
    with path.open("rb") as file:
        file.seek(start)
        while length > 0 and (chunk := file.read(min(size, length))):
            length -= len(chunk)
            yield chunk

"""Objects of a bucket and how they get there."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True)
class ObjectInfo:
    """One object of the bucket."""

    key: str
    size: int
    etag: str
    modified: datetime
    version: str | None = None


@dataclass(frozen=True)
class Listing:
    """One page of a listing; ``cursor`` is None on the last."""

    objects: tuple[ObjectInfo, ...]
    prefixes: tuple[str, ...] = ()
    cursor: str | None = None


@dataclass(frozen=True)
class Deleted:
    """What was deleted, and what was refused and why."""

    deleted: tuple[str, ...]
    refused: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Upload:
    """An upload under way: ``parts`` parts of ``part_size`` bytes, the last one shorter."""

    id: str
    key: str
    size: int
    part_size: int
    parts: int

    def size_of(self, number: int) -> int:
        """Bytes of part ``number``, counted from 1."""
        return min(self.part_size, self.size - (number - 1) * self.part_size)


@dataclass(frozen=True)
class PartUrl:
    """Where to PUT one part."""

    number: int
    url: str
    size: int


@dataclass(frozen=True)
class PartUrls:
    """The signed parts; each URL opens for ``expires_in_s`` seconds."""

    urls: tuple[PartUrl, ...]
    expires_in_s: int


@dataclass(frozen=True)
class Part:
    """One part as the store has it; the ETag is the MD5 of its bytes where the store does not encrypt by a key of one's own."""

    number: int
    size: int
    etag: str


@dataclass(frozen=True)
class Parts:
    """What the store has of an upload."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class SignedDownload:
    """A URL that gives one object for ``expires_in_s`` seconds; two with the same ETag give the same bytes."""

    url: str
    key: str
    size: int
    etag: str
    expires_in_s: int

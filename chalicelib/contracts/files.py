"""Objects of a bucket and how they get there."""

from pydantic import Field

from chalicelib.contracts.base import Instant, Lenient, Strict


class ObjectInfo(Lenient):
    """One object: key, size in bytes, ETag without quotes."""

    key: str
    size: int
    etag: str
    modified: Instant
    version: str | None = None


class Listing(Lenient):
    """One page of a listing; ``cursor`` is None on the last page. ``prefixes`` are folders, each ends in ``/``."""

    objects: tuple[ObjectInfo, ...]
    prefixes: tuple[str, ...] = ()
    cursor: str | None = None


class Part(Lenient):
    """One part of a multipart upload as the store has it."""

    number: int
    size: int
    etag: str


class UploadStart(Strict):
    """A file about to be uploaded; the part size follows from the size."""

    key: str = Field(min_length=1, max_length=1024)
    size: int = Field(ge=0, le=5 * 2**40)
    content_type: str = Field(default="application/octet-stream", max_length=255, pattern=r"^[ -~]+$")


class Upload(Lenient):
    """An upload under way."""

    id: str
    key: str
    size: int
    part_size: int
    parts: int


class PartNumbers(Strict):
    """Which parts to sign."""

    numbers: tuple[int, ...] = Field(min_length=1, max_length=100)


class PartUrl(Lenient):
    """Where to PUT one part; exactly ``size`` bytes."""

    number: int
    url: str
    size: int


class PartUrls(Lenient):
    """The signed parts; each URL opens for ``expires_in_s`` seconds from now."""

    urls: tuple[PartUrl, ...]
    expires_in_s: int


class Parts(Lenient):
    """What the store has of an upload."""

    parts: tuple[Part, ...]


class SignedDownload(Lenient):
    """A URL that gives one object for ``expires_in_s`` seconds; the ETag tells whether two URLs give the same bytes."""

    url: str
    key: str
    size: int
    etag: str
    expires_in_s: int


class DeleteFiles(Strict):
    """Keys to delete, at most 1,000."""

    keys: tuple[str, ...] = Field(min_length=1, max_length=1000)


class Deleted(Lenient):
    """What was deleted, and what was refused with its reason (a running job's inputs)."""

    deleted: tuple[str, ...]
    refused: dict[str, str] = Field(default_factory=dict)


class RestoreFiles(Strict):
    """Deleted keys that shall come back, at most 1,000."""

    keys: tuple[str, ...] = Field(min_length=1, max_length=1000)


class Restored(Lenient):
    """The keys that came back."""

    restored: tuple[str, ...]


class MoveFile(Strict):
    """An object and the key it shall have from now on."""

    key: str = Field(min_length=1, max_length=1024)
    to: str = Field(min_length=1, max_length=1024)


class NewFolder(Strict):
    """A folder, with or without its closing slash."""

    prefix: str = Field(min_length=1, max_length=1024)


class FolderState(Lenient):
    """What a folder lets its user do: whether a deletion can be undone, and which job guards the folders named (``""``: none)."""

    keeps_versions: bool
    guarded_by: str = ""
    guarded: tuple[str, ...] = ()


class HalfUpload(Lenient):
    """An upload that was begun and not completed; ``id`` is the store's own, ``bytes`` what the store holds of it."""

    key: str
    id: str
    started_at: Instant
    bytes: int = 0


class HalfUploads(Lenient):
    """The oldest half uploads of a bucket, and how many there are besides."""

    uploads: tuple[HalfUpload, ...]
    more: int = 0


class UploadName(Strict):
    """Which half upload."""

    key: str = Field(min_length=1, max_length=1024)
    id: str = Field(min_length=1, max_length=1024)


class DropUploads(Strict):
    """Half uploads to drop, at most 100."""

    uploads: tuple[UploadName, ...] = Field(min_length=1, max_length=100)


class FolderUsage(Lenient):
    """What one folder of a workspace holds; both names are empty for what lies outside ``jobs/``."""

    workspace: str
    folder: str
    objects: int
    bytes: int


class Usage(Lenient):
    """One stretch of a bucket, counted; a folder may go on in the next stretch, and ``cursor`` is None in the last."""

    folders: tuple[FolderUsage, ...]
    cursor: str | None = None

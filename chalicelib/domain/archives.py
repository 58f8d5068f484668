"""What a zip holds, as its own directory says."""

from dataclasses import dataclass
from enum import StrEnum

from chalicelib.domain.labels import LabelCount
from chalicelib.domain.workspaces import is_junk


@dataclass(frozen=True)
class ArchiveEntry:
    """One member: sizes in bytes unpacked and packed, ``method`` as zip numbers it, ``mode`` the Unix file mode (0 unknown)."""

    name: str
    size: int
    packed: int
    method: int = 0
    encrypted: bool = False
    mode: int = 0

    @property
    def is_folder(self) -> bool:
        """True for a folder's own entry."""
        return self.name.endswith(("/", "\\"))


@dataclass(frozen=True)
class ArchiveDirectory:
    """All members in the order of the directory."""

    entries: tuple[ArchiveEntry, ...]
    labels: tuple[LabelCount, ...] = ()
    """What its label files hold, those that are small and understood."""

    @property
    def files(self) -> tuple[ArchiveEntry, ...]:
        """The members a training function will see: no folders, nothing that an operating system left behind."""
        return tuple(entry for entry in self.entries if not entry.is_folder and not is_junk(entry.name))


class Damage(StrEnum):
    """Why an archive's directory could not be read."""

    ZERO_BYTES = "shard_zero_bytes"
    NOT_A_ZIP = "shard_not_zip"
    INCOMPLETE = "shard_incomplete"
    TOO_LARGE = "shard_directory_too_large"


@dataclass(frozen=True)
class Unreadable:
    """An archive without a readable directory; ``looks_like`` names what the file seems to be instead."""

    damage: Damage
    looks_like: str = ""


_SIGNATURES = (
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x1f\x8b", "a gzip file"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ\x00", "an xz file"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file"),
)


def looks_like(head: bytes) -> str:
    """What a file that is no zip seems to be, from its first bytes (512 are enough); empty when unknown."""
    start = head.lstrip()[:100].lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "an HTML page"
    if start.startswith((b"<?xml", b"<error")):
        return "an XML document, perhaps an error message of a download"
    if head[257:262] == b"ustar":
        return "a tar archive"
    return next((name for signature, name in _SIGNATURES if head.startswith(signature)), "")


def damage_of(head: bytes) -> Unreadable:
    """Why a file with these first bytes has no directory: cut short when it begins like a zip, else something else."""
    if head.startswith(b"PK\x03\x04"):
        return Unreadable(Damage.INCOMPLETE)
    return Unreadable(Damage.NOT_A_ZIP, looks_like(head))

"""The directory of a zip in the object store, by ranged reads of its end only."""

import io
import zipfile
import zlib
from errno import EINVAL
from struct import error as struct_error

from chalicelib.contracts.files import ObjectInfo
from chalicelib.domain.archives import ArchiveDirectory, ArchiveEntry, Damage, Unreadable, damage_of
from chalicelib.domain.labels import LARGEST, LabelCount, count_labels, is_label_file
from chalicelib.domain.workspaces import is_junk
from chalicelib.ports import ObjectStore

BLOCK = 256 * 1024
"""Bytes of one read at least: the directory of some thousand files lies in the last block."""
MOST = 64 * 1024 * 1024
"""Bytes of directory that are read before it is refused."""
MOST_LABEL_FILES = 4


class DirectoryTooLarge(Exception):
    """More than MOST bytes were asked for."""


class RangedObject(io.RawIOBase):
    """An object as a seekable file: each read is a range of BLOCK bytes or more, the last of which is kept."""

    def __init__(self, objects: ObjectStore, bucket: str, item: ObjectInfo) -> None:
        super().__init__()
        self._objects, self._bucket, self._item = objects, bucket, item
        self._at = 0
        self._start, self._held = 0, b""
        self._left = MOST

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._item.size}[whence]
        if base + offset < 0:
            raise OSError(EINVAL, "before the beginning of the object")  # what zipfile expects of a file
        self._at = base + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes in one go; all that are left when negative."""
        left = max(0, self._item.size - self._at)
        return self._bytes(left if size < 0 else min(size, left))

    def _bytes(self, size: int) -> bytes:
        size = min(size, max(0, self._item.size - self._at))
        if not self._start <= self._at or self._at + size > self._start + len(self._held):
            self._fetch(size)
        first = self._at - self._start
        data = self._held[first : first + size]
        self._at += len(data)
        return data

    def _fetch(self, size: int) -> None:
        start = min(self._at, max(0, self._item.size - BLOCK))
        length = max(self._at + size - start, min(BLOCK, self._item.size - start))
        self._left -= length
        if self._left < 0:
            raise DirectoryTooLarge(self._item.key)
        version = self._item.version
        self._held = self._objects.read(self._bucket, self._item.key, start=start, length=length, version=version)
        self._start = start


def read_directory(objects: ObjectStore, bucket: str, item: ObjectInfo) -> ArchiveDirectory | Unreadable:
    """The directory of a zip, one request for an ordinary one (zip64 included), or why there is none. Absent: ObjectNotFound."""
    if item.size == 0:
        return Unreadable(Damage.ZERO_BYTES)
    file = RangedObject(objects, bucket, item)
    try:
        with zipfile.ZipFile(file) as archive:
            entries = tuple(_entry(info) for info in archive.infolist())
            return ArchiveDirectory(entries, _labels(archive))
    except DirectoryTooLarge:
        return Unreadable(Damage.TOO_LARGE)
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, struct_error):
        return damage_of(objects.read(bucket, item.key, start=0, length=min(512, item.size), version=item.version))


def _labels(archive: zipfile.ZipFile) -> tuple[LabelCount, ...]:
    """The first label files, where they are small: what cannot be read here is the training's to report."""
    found = [info for info in archive.infolist() if is_label_file(info.filename) and not is_junk(info.filename)]
    small = [info for info in found if info.file_size <= LARGEST and info.compress_size <= LARGEST]
    return tuple(count for info in small[:MOST_LABEL_FILES] if (count := _count(archive, info)) is not None)


def _count(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> LabelCount | None:
    try:
        with archive.open(info) as member:
            return count_labels(info.filename, member.read(LARGEST))
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError, struct_error):
        return None


def _entry(info: zipfile.ZipInfo) -> ArchiveEntry:
    return ArchiveEntry(
        name=info.orig_filename,
        size=info.file_size,
        packed=info.compress_size,
        method=info.compress_type,
        encrypted=bool(info.flag_bits & 1),
        mode=info.external_attr >> 16,
    )

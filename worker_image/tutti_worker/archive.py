"""A user's zip, unpacked without trusting it."""

import shutil
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from chalicelib.contracts.job import ReasonCode
from tutti_worker.trouble import Failure, failure

_CHUNK = 1 << 20
_METHODS = {9: "deflate64", zipfile.ZIP_BZIP2: "bzip2", zipfile.ZIP_LZMA: "LZMA", 93: "Zstandard", 95: "XZ", 98: "PPMd"}


@dataclass(frozen=True)
class Limits:
    """How much a zip may hold before it counts as a bomb."""

    total: int
    """Bytes unpacked."""
    entries: int = 2_000_000
    ratio: int = 1_100
    """Unpacked to packed of one entry above ``ratio_from`` bytes; deflate itself reaches 1,032."""
    ratio_from: int = 16 << 20


def room(folder: Path, spare: int = 256 << 20) -> Limits:
    """Limits that leave ``spare`` bytes free on the disk of ``folder``."""
    return Limits(total=max(0, shutil.disk_usage(folder).free - spare))


def unpack(archive: Path, target: Path, limits: Limits, *, root: str = "") -> int:
    """Unpack into ``target`` and return how many files there are; ``root`` keeps only that folder of the zip, as the top.

    Raises Failure shard_invalid naming the entry for anything a zip of data files does not hold: paths that leave the
    folder, links and devices, encryption, duplicate names, more bytes than declared or allowed, wrong checksums.
    Raises Failure disk_full.
    """
    target.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(archive) as opened:
            plan = list(_plan(opened.infolist(), archive.name, limits, _root_parts(root)))
            _write_all(opened, plan, target, archive.name, limits)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise _invalid(archive.name, f"is not a zip that can be read ({error})") from error
    files = sum(1 for entry, _ in plan if not entry.is_dir())
    if root and not files:
        raise _invalid(archive.name, f"holds nothing below {root!r}")
    return files


def _root_parts(root: str) -> tuple[str, ...]:
    return tuple(part for part in PurePosixPath(root).parts if part != "/")


def _plan(
    entries: list[zipfile.ZipInfo], name: str, limits: Limits, root: tuple[str, ...]
) -> Iterator[tuple[zipfile.ZipInfo, PurePosixPath]]:
    if len(entries) > limits.entries:
        raise _invalid(name, f"holds {len(entries)} entries, {limits.entries} are allowed")
    declared = sum(entry.file_size for entry in entries)
    if declared > limits.total:
        raise _too_big(name, declared, limits)
    seen: dict[str, str] = {}
    for entry in entries:
        path = _safe_path(entry, name)
        _check_entry(entry, name, limits)
        _check_twice(entry, path, seen, name)
        if path.parts[: len(root)] == root and len(path.parts) > len(root):
            yield entry, PurePosixPath(*path.parts[len(root) :])


def _safe_path(entry: zipfile.ZipInfo, name: str) -> PurePosixPath:
    raw = entry.orig_filename
    shown = raw.encode("unicode_escape").decode()[:200]
    path = PurePosixPath(entry.filename)
    if "\\" in raw or "\0" in raw or any(ord(letter) < 32 for letter in raw):
        raise _invalid(name, f"holds an entry with a backslash or control character in its name: {shown}")
    if path.is_absolute() or raw.startswith("/"):
        raise _invalid(name, f"holds an entry with an absolute path: {shown}")
    if len(raw) > 1 and raw[1] == ":" and raw[0].isalpha():
        raise _invalid(name, f"holds an entry with a drive letter: {shown}")
    if ".." in path.parts or not path.parts:
        raise _invalid(name, f"holds an entry that leads out of its folder: {shown}")
    if any(len(part.encode()) > 255 for part in path.parts) or len(raw.encode()) > 3000:
        raise _invalid(name, f"holds an entry whose name is too long: {shown}")
    return path


def _check_entry(entry: zipfile.ZipInfo, name: str, limits: Limits) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16) if entry.create_system == 3 else 0
    if kind == stat.S_IFLNK:
        raise _invalid(name, f"holds a symbolic link: {entry.filename}")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _invalid(name, f"holds a device, pipe or socket: {entry.filename}")
    if entry.flag_bits & 0x1 or entry.flag_bits & 0x40:
        raise _invalid(name, f"holds an encrypted entry: {entry.filename}")
    # Only these are unpacked in bounded portions: a few bytes of another method may become gigabytes in one step.
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        method = _METHODS.get(entry.compress_type, f"method {entry.compress_type}")
        raise failure(
            ReasonCode.SHARD_INVALID,
            f"{name} holds an entry packed with {method}: {entry.filename}; zip it again with deflate.",
        )
    if entry.is_dir() and entry.file_size:
        raise _invalid(name, f"holds a folder with content of its own: {entry.filename}")
    if _bomb(entry.file_size, entry.compress_size, limits):
        raise _invalid(name, f"holds an entry that unpacks to {entry.file_size} bytes from a few: {entry.filename}")


def _bomb(unpacked: int, packed: int, limits: Limits) -> bool:
    return unpacked > limits.ratio_from and unpacked > limits.ratio * max(packed, 1)


def _check_twice(entry: zipfile.ZipInfo, path: PurePosixPath, seen: dict[str, str], name: str) -> None:
    key = unicodedata.normalize("NFC", path.as_posix())
    if key in seen and not (entry.is_dir() and seen[key] == "folder"):
        raise _invalid(name, f"holds two entries of one name: {entry.filename}")
    seen[key] = "folder" if entry.is_dir() else "file"


def _write_all(
    opened: zipfile.ZipFile, plan: list[tuple[zipfile.ZipInfo, PurePosixPath]], target: Path, name: str, limits: Limits
) -> None:
    left = limits.total
    for entry, path in plan:
        place = target / path
        try:
            left -= _write_entry(opened, entry, place, left, name)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise _invalid(name, f"uses one name for a file and a folder: {entry.filename}") from error
        except OSError as error:
            raise _disk(error, name, entry) from error
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
            raise _invalid(name, f"is damaged at {entry.filename} ({error})") from error


def _write_entry(opened: zipfile.ZipFile, entry: zipfile.ZipInfo, place: Path, left: int, name: str) -> int:
    if entry.is_dir():
        place.mkdir(parents=True, exist_ok=True)
        return 0
    place.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with opened.open(entry) as source, place.open("xb") as file:
        while chunk := source.read(_CHUNK):
            written += len(chunk)
            if written > left or written > entry.file_size:
                raise _invalid(name, f"unpacks to more than it declares: {entry.filename}")
            file.write(chunk)
    return written


def _disk(error: OSError, name: str, entry: zipfile.ZipInfo) -> Failure:
    if error.errno == 28:
        return failure(ReasonCode.DISK_FULL, f"the disk is full at {entry.filename} of {name}; choose more disk.")
    return _invalid(name, f"cannot be unpacked at {entry.filename} ({error.strerror})")


def _too_big(name: str, declared: int, limits: Limits) -> Failure:
    return failure(ReasonCode.DISK_FULL, f"{name} unpacks to {declared} bytes, this worker has room for {limits.total}.")


def _invalid(name: str, what: str) -> Failure:
    return failure(ReasonCode.SHARD_INVALID, f"{name} {what}; pack it again from plain files.")

"""Zips that must not be trusted."""

import io
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tutti_worker.archive import Limits, unpack
from tutti_worker.trouble import Failure

from tests.worker.builders import zip_of

LIMITS = Limits(total=64 << 20)


def entry(name: str, *, mode: int = 0, body: bytes = b"x") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        info = zipfile.ZipInfo(name)
        info.create_system = 3
        info.external_attr = mode << 16
        archive.writestr(info, body)
    return packed.getvalue()


def raw_name(name: bytes) -> bytes:
    """A zip whose one entry has exactly these bytes as its name."""
    packed = entry("n" * len(name))
    return packed.replace(b"n" * len(name), name)


def encrypted() -> bytes:
    packed = bytearray(zip_of({"a.bin": b"x"}))
    central = packed.find(b"PK\x01\x02")
    packed[6] |= 1
    packed[central + 8] |= 1
    return bytes(packed)


def twice() -> bytes:
    packed = entry("one.bin")
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("one.bin", b"a")
            archive.writestr("two.bin", b"b")
        packed = file.getvalue()
    return packed.replace(b"two.bin", b"one.bin")


def understated() -> bytes:
    """Declares 10 bytes, unpacks to a million."""
    packed = bytearray(zip_of({"a.bin": b"\0" * 1_000_000}))
    central = packed.find(b"PK\x01\x02")
    packed[22:26] = struct.pack("<I", 10)
    packed[central + 24 : central + 28] = struct.pack("<I", 10)
    return bytes(packed)


def damaged() -> bytes:
    packed = bytearray(entry("a.bin", body=b"hello world"))
    at = packed.find(b"hello")
    packed[at] ^= 0xFF
    return bytes(packed)


CASES: dict[str, tuple[Callable[[], bytes], str]] = {
    "a path that climbs out": (lambda: raw_name(b"../up.txt"), "leads out of its folder"),
    "a path that climbs out in the middle": (lambda: raw_name(b"a/../../up.txt"), "leads out of its folder"),
    "an absolute path": (lambda: raw_name(b"/etc/passwd"), "absolute path"),
    "a drive letter": (lambda: raw_name(b"C:/up.txt"), "drive letter"),
    "a backslash": (lambda: raw_name(b"a\\..\\up.txt"), "backslash"),
    "a line feed in a name": (lambda: raw_name(b"a\nb.txt"), "control character"),
    "a symbolic link": (lambda: entry("link", mode=stat.S_IFLNK | 0o777, body=b"/etc/passwd"), "symbolic link"),
    "a device": (lambda: entry("null", mode=stat.S_IFCHR | 0o666), "device"),
    "a pipe": (lambda: entry("pipe", mode=stat.S_IFIFO | 0o666), "device, pipe"),
    "an encrypted entry": (encrypted, "encrypted"),
    "two entries of one name": (twice, "two entries of one name"),
    "a file used as a folder": (lambda: zip_of({"a": b"1", "a/b": b"2"}), "file and a folder"),
    "more bytes than declared": (understated, "a.bin"),
    "a wrong checksum": (damaged, "damaged at a.bin"),
    "no zip at all": (lambda: b"PKnothing", "not a zip"),
    "a zip cut short": (lambda: zip_of({"a.bin": b"x" * 5000})[:-30], "not a zip"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_zip_is_refused_and_says_what_is_wrong(case: str, tmp_path: Path) -> None:
    make, said = CASES[case]
    packed = tmp_path / "shard.zip"
    packed.write_bytes(make())
    with pytest.raises(Failure) as refused:
        unpack(packed, tmp_path / "inside" / "data", LIMITS)
    assert refused.value.cause.code == "shard_invalid"
    assert said in refused.value.cause.sentence
    assert [path for path in tmp_path.rglob("*") if path.is_file() and "inside" not in path.parts] == [packed]


def test_a_bomb_is_refused_by_its_declared_ratio(tmp_path: Path) -> None:
    packed = tmp_path / "bomb.zip"
    packed.write_bytes(zip_of({"zeros.bin": b"\0" * (32 << 20)}))
    with pytest.raises(Failure, match=r"zeros\.bin"):
        unpack(packed, tmp_path / "data", Limits(total=64 << 20, ratio=200))


@pytest.mark.parametrize(("method", "said"), [(zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "LZMA")])
def test_a_method_that_unpacks_without_bounds_is_refused_by_name(method: int, said: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "shard.zip", "w", method) as archive:
        archive.writestr("zeros.bin", b"\0" * 5000)
    with pytest.raises(Failure, match=rf"packed with {said}: zeros\.bin; zip it again with deflate") as refused:
        unpack(tmp_path / "shard.zip", tmp_path / "data", LIMITS)
    assert refused.value.cause.code == "shard_invalid"


def test_a_zip_larger_than_the_room_is_refused_before_a_byte_is_written(tmp_path: Path) -> None:
    packed = tmp_path / "big.zip"
    packed.write_bytes(zip_of({"a.bin": b"x" * 2000}))
    with pytest.raises(Failure) as refused:
        unpack(packed, tmp_path / "data", Limits(total=1000))
    assert refused.value.cause.code == "disk_full"
    assert list((tmp_path / "data").iterdir()) == []


def test_plain_files_and_folders_are_unpacked(tmp_path: Path) -> None:
    packed = tmp_path / "shard.zip"
    packed.write_bytes(zip_of({"images/": b"", "images/ä.txt": b"one", "top.csv": b"two"}))
    assert unpack(packed, tmp_path / "data", LIMITS) == 2
    assert (tmp_path / "data/images/ä.txt").read_bytes() == b"one"


def test_an_accepted_root_becomes_the_top(tmp_path: Path) -> None:
    packed = tmp_path / "shard.zip"
    packed.write_bytes(zip_of({"shard/images/a.txt": b"one", "__MACOSX/x": b"two"}))
    assert unpack(packed, tmp_path / "data", LIMITS, root="shard") == 1
    assert (tmp_path / "data/images/a.txt").read_bytes() == b"one"


def test_a_root_that_is_not_in_the_zip_is_refused(tmp_path: Path) -> None:
    packed = tmp_path / "shard.zip"
    packed.write_bytes(zip_of({"a.txt": b"one"}))
    with pytest.raises(Failure, match="nothing below 'other'"):
        unpack(packed, tmp_path / "data", LIMITS, root="other")


def test_files_are_never_executable_or_written_through_a_link(tmp_path: Path) -> None:
    packed = tmp_path / "shard.zip"
    packed.write_bytes(entry("run.sh", mode=stat.S_IFREG | 0o4755))
    unpack(packed, tmp_path / "data", LIMITS)
    assert (tmp_path / "data/run.sh").stat().st_mode & 0o7111 == 0

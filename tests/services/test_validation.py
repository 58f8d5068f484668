"""A check, from the bucket to the stored report."""

import io
import struct
import zipfile

import pytest

from chalicelib.contracts.report import CardState
from chalicelib.domain.archives import ArchiveDirectory, Damage, Unreadable
from chalicelib.services.archives import read_directory
from chalicelib.services.validation import check, check_now
from tests.domain.builders import PREFIX, zip_bytes
from tests.fakes import MemoryClock, MemoryObjectStore, MemoryReportStore
from tests.services.builders import BUCKET, stored_workspace

SHARD = f"{PREFIX}shards/a.zip"


def codes(objects: MemoryObjectStore) -> list[str]:
    report = check("me", "demo", bucket=BUCKET, objects=objects, reports=MemoryReportStore(), clock=MemoryClock())
    return [finding.code for finding in report.findings]


def directory(data: bytes) -> tuple[ArchiveDirectory | Unreadable, int]:
    """The directory of a zip of these bytes, and how many bytes were asked for."""
    objects = stored_workspace(shards={"a.zip": data})
    return read_directory(objects, BUCKET, objects.head(BUCKET, SHARD)), [op for op, _ in objects.requests].count("read")


def test_a_good_workspace_gives_a_clean_report_with_its_workers() -> None:
    objects, reports = stored_workspace(), MemoryReportStore()
    report = check("me", "demo", bucket=BUCKET, objects=objects, reports=reports, clock=MemoryClock())
    assert (report.findings, report.workers) == ((), 3)
    assert reports.newest("me", "demo") == (report, 1)


def test_a_check_of_three_shards_takes_few_requests() -> None:
    objects = stored_workspace()
    codes(objects)
    assert len(objects.requests) == 1 + 8 + 3


def test_many_outputs_are_not_listed_through() -> None:
    objects = stored_workspace(others={f"files_out/job-1/{n}.txt": b"x" for n in range(2500)})
    codes(objects)
    assert [operation for operation, _ in objects.requests].count("list") == 1 + 5


def test_outputs_are_no_part_of_what_is_checked() -> None:
    objects = stored_workspace(others={f"files_out/job-1/{n}.txt": b"x" for n in range(3)})
    assert codes(objects) == codes(stored_workspace())


def test_every_page_of_a_long_listing_is_read() -> None:
    objects = stored_workspace(others={f"shards/note_{n:04}.txt": b"x" for n in range(1200)})
    assert codes(objects).count("shard_stray") == 1200


def test_an_empty_folder_gives_a_report_that_says_what_is_missing() -> None:
    objects = MemoryObjectStore()
    objects.create_bucket(BUCKET, origins=())
    assert {"folder_empty", "model_def_missing", "no_shards"} <= set(codes(objects))


def test_the_cards_are_those_of_the_listing() -> None:
    objects = stored_workspace(shards={})
    report = check("me", "demo", bucket=BUCKET, objects=objects, reports=MemoryReportStore(), clock=MemoryClock())
    assert [card.folder for card in report.cards if card.state is CardState.NEEDS_FILES] == ["shards"]


class Overtaken(MemoryReportStore):
    """A store in which another check takes its counter, and stores, before this one stores."""

    def next_counter(self, owner: str, workspace: str) -> int:
        mine = super().next_counter(owner, workspace)
        if mine == 1:
            check(owner, workspace, bucket=BUCKET, objects=stored_workspace(), reports=self, clock=MemoryClock())
        return mine


def test_an_older_check_that_ends_later_does_not_replace_the_newer_report() -> None:
    reports = Overtaken()
    check("me", "demo", bucket=BUCKET, objects=stored_workspace(shards={}), reports=reports, clock=MemoryClock())
    newest, _ = reports.newest("me", "demo")
    assert newest is not None
    assert (newest.counter, newest.findings) == (2, ())


class Vanishing(MemoryObjectStore):
    """An object is deleted between the listing and the read."""

    def read(
        self, bucket: str, key: str, *, start: int | None = None, length: int | None = None, version: str | None = None
    ) -> bytes:
        if key.endswith("model_def.py"):
            self.delete(bucket, [key])
        return super().read(bucket, key, start=start, length=length, version=version)


def test_a_file_deleted_during_the_check_counts_as_missing() -> None:
    objects = Vanishing()
    objects.create_bucket(BUCKET, origins=())
    source = stored_workspace()
    for item in source.list(BUCKET).objects:
        objects.put(BUCKET, item.key, source.read(BUCKET, item.key))
    assert codes(objects) == ["model_def_missing"]


def test_a_script_of_over_a_megabyte_is_reported_and_not_read() -> None:
    objects = stored_workspace(others={"scripts/huge.py": b"#" * 1_000_001})
    assert codes(objects) == ["text_too_large"]
    assert ("read", f"{PREFIX}scripts/huge.py") not in objects.requests


def test_the_snapshot_that_was_judged_comes_with_the_report() -> None:
    ws, report = check_now(
        "me", "demo", bucket=BUCKET, objects=stored_workspace(), reports=MemoryReportStore(), clock=MemoryClock()
    )
    assert len(ws.shards) == report.workers


@pytest.mark.parametrize(
    ("data", "damage"),
    [
        (b"", Damage.ZERO_BYTES),
        (b"Rar!\x1a\x07\x00" + b"x" * 100, Damage.NOT_A_ZIP),
        (b"<!DOCTYPE html><html></html>", Damage.NOT_A_ZIP),
        (zip_bytes("a", "b", data=b"x" * 5000)[:-80], Damage.INCOMPLETE),
        (b"PK", Damage.NOT_A_ZIP),
    ],
    ids=["empty", "rar", "html", "cut", "two bytes"],
)
def test_what_is_no_whole_zip_is_told_apart(data: bytes, damage: Damage) -> None:
    found, _ = directory(data)
    assert isinstance(found, Unreadable)
    assert found.damage is damage


def test_a_zip_without_members_is_a_directory_without_files() -> None:
    assert directory(zip_bytes())[0] == ArchiveDirectory(())


def test_the_directory_of_a_large_archive_is_read_in_one_request_from_its_end() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("big.bin", b"x" * 3_000_000)
        archive.writestr("labels.csv", b"a,b")
    found, requests = directory(buffer.getvalue())
    assert isinstance(found, ArchiveDirectory)
    assert ([entry.name for entry in found.files], requests) == (["big.bin", "labels.csv"], 1)


def test_a_directory_longer_than_a_block_is_read_in_two_requests() -> None:
    found, requests = directory(zip_bytes(*(f"images/{'n' * 80}{n}.png" for n in range(3000))))
    assert isinstance(found, ArchiveDirectory)
    assert (len(found.files), requests) == (3000, 2)


def as_zip64(data: bytes) -> bytes:
    """The same archive whose end says "see the zip64 record" and carries one."""
    body, end = data[:-22], data[-22:]
    count, size, offset = struct.unpack("<H2L", end[10:20])
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, offset)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(body), 1)
    full = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return body + record + locator + full


def test_zip64_records_are_understood() -> None:
    found, requests = directory(as_zip64(zip_bytes("a", "b", "c")))
    assert isinstance(found, ArchiveDirectory)
    assert ([entry.name for entry in found.files], requests) == (["a", "b", "c"], 1)


def test_bytes_before_the_archive_do_no_harm() -> None:
    found, _ = directory(b"#!/bin/sh\n" + zip_bytes("a"))
    assert isinstance(found, ArchiveDirectory)
    assert [entry.name for entry in found.files] == ["a"]

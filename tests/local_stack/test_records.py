"""The file under the stores."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chalicelib.domain.errors import StoreUnavailable
from local_stack.records import AccountRecords, Records


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "records.sqlite3"


@pytest.fixture
def records(path: Path) -> Iterator[Records]:
    records = Records(path)
    yield records
    records.close()


def test_what_was_written_is_there_when_the_file_is_opened_again(path: Path) -> None:
    first = Records(path)
    AccountRecords(first).set_bucket("anna", "a")
    first.close()
    second = Records(path)
    found = AccountRecords(second).bucket_of("anna")
    second.close()
    assert found == "a"


def test_what_was_written_outlives_a_killed_process(path: Path) -> None:
    code = (
        "import os, pathlib, signal, sys\n"
        "from local_stack.records import AccountRecords, Records\n"
        "AccountRecords(Records(pathlib.Path(sys.argv[1]))).set_bucket('anna', 'a')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], cwd=Path(__file__).parents[2], check=False, timeout=60)
    records = Records(path)
    found = AccountRecords(records).bucket_of("anna")
    records.close()
    assert found == "a"


def test_a_write_that_fails_leaves_nothing(records: Records) -> None:
    with pytest.raises(StoreUnavailable):
        write_and_fail(records)
    assert AccountRecords(records).bucket_of("anna") is None


def test_a_failed_write_does_not_block_the_next(records: Records) -> None:
    with pytest.raises(StoreUnavailable):
        write_and_fail(records)
    assert AccountRecords(records).set_bucket("anna", "a") == "a"


def test_a_reader_does_not_wait_for_a_writer(records: Records) -> None:
    with records.writing() as connection:
        connection.execute("INSERT INTO buckets VALUES ('anna', 'a')")
        assert AccountRecords(records).bucket_of("anna") is None


def test_two_openings_of_one_file_see_each_other(records: Records, path: Path) -> None:
    other = Records(path)
    AccountRecords(other).set_bucket("anna", "a")
    other.close()
    assert AccountRecords(records).bucket_of("anna") == "a"


def test_a_file_of_a_newer_version_is_refused_by_name(path: Path) -> None:
    Records(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version=999")
    connection.close()
    with pytest.raises(StoreUnavailable, match="newer Tutti"):
        Records(path)


def test_a_file_that_is_no_database_is_refused_by_name(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("no database " * 1000)
    with pytest.raises(StoreUnavailable, match="do not answer"):
        Records(path)


def write_and_fail(records: Records) -> None:
    """A transaction whose second statement is wrong."""
    with records.writing() as connection:
        connection.execute("INSERT INTO buckets VALUES ('anna', 'a')")
        connection.execute("INSERT INTO nowhere VALUES (1)")


def test_a_full_disk_is_named_with_what_to_do_and_nothing_is_half_written(records: Records, path: Path) -> None:
    accounts = AccountRecords(records)
    with records.writing() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(StoreUnavailable, match=r"disk that holds .* is full") as refused:
        fill(accounts)
    assert "Free space" in refused.value.hint
    with records.writing() as connection:
        connection.execute("PRAGMA max_page_count=100000")
    fill(accounts)
    assert len(accounts.buckets()) == 2000


def fill(accounts: AccountRecords) -> None:
    for number in range(2000):
        accounts.set_bucket(f"user-{number:04}", f"bucket-{number:04}")

"""Every implementation of the stores, by name: a suite per port runs over all of them. A new one is one line in each table."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from chalicelib.ports import AccountStore, Fleet, JobStore, ReportStore
from local_stack.fleet import LaptopFleet
from local_stack.machine import Machine
from local_stack.records import AccountRecords, JobRecords, Records, ReportRecords


@contextmanager
def _records(folder: Path) -> Iterator[Records]:
    records = Records(folder / "records.sqlite3")
    try:
        yield records
    finally:
        records.close()


@contextmanager
def _sqlite_jobs(folder: Path) -> Iterator[JobStore]:
    with _records(folder) as records:
        yield JobRecords(records)


@contextmanager
def _sqlite_reports(folder: Path) -> Iterator[ReportStore]:
    with _records(folder) as records:
        yield ReportRecords(records)


@contextmanager
def _sqlite_accounts(folder: Path) -> Iterator[AccountStore]:
    with _records(folder) as records:
        yield AccountRecords(records)


@contextmanager
def _laptop_fleet(folder: Path) -> Iterator[Fleet]:
    """Four slots of type ``cpu``."""
    with _records(folder) as records:
        yield LaptopFleet(records, Machine(cores=2, ram=8 * 10**9))


JOB_STORES: Mapping[str, Callable[[Path], AbstractContextManager[JobStore]]] = {"sqlite": _sqlite_jobs}
REPORT_STORES: Mapping[str, Callable[[Path], AbstractContextManager[ReportStore]]] = {"sqlite": _sqlite_reports}
ACCOUNT_STORES: Mapping[str, Callable[[Path], AbstractContextManager[AccountStore]]] = {"sqlite": _sqlite_accounts}
FLEETS: Mapping[str, Callable[[Path], AbstractContextManager[Fleet]]] = {"laptop": _laptop_fleet}

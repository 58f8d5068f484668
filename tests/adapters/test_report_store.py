"""What every ReportStore promises."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.ports import ReportStore
from tests.adapters.record_builders import at_once, report
from tests.adapters.stores import REPORT_STORES


@pytest.fixture(params=REPORT_STORES)
def reports(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ReportStore]:
    with REPORT_STORES[request.param](tmp_path) as store:
        yield store


def test_counters_rise(reports: ReportStore) -> None:
    assert [reports.next_counter("anna", "w") for _ in range(3)] == [1, 2, 3]


def test_sixteen_checks_at_once_take_sixteen_counters(reports: ReportStore) -> None:
    taken = at_once(16, lambda _: [reports.next_counter("anna", "w") for _ in range(5)])
    assert sorted(n for some in taken if isinstance(some, list) for n in some) == list(range(1, 81))


def test_each_workspace_counts_for_itself(reports: ReportStore) -> None:
    reports.next_counter("anna", "w")
    assert (reports.next_counter("anna", "v"), reports.next_counter("bert", "w")) == (1, 1)


def test_a_workspace_never_checked_has_no_report(reports: ReportStore) -> None:
    assert reports.newest("anna", "w") == (None, 0)


def test_a_check_under_way_shows_in_the_counter(reports: ReportStore) -> None:
    reports.store("anna", report(reports.next_counter("anna", "w")))
    reports.next_counter("anna", "w")
    assert reports.newest("anna", "w") == (report(1), 2)


def test_a_counter_taken_before_any_report_shows_too(reports: ReportStore) -> None:
    reports.next_counter("anna", "w")
    assert reports.newest("anna", "w") == (None, 1)


def test_a_newer_report_replaces_an_older_one(reports: ReportStore) -> None:
    reports.store("anna", report(1, workers=1))
    assert reports.store("anna", report(2, workers=2))
    assert reports.newest("anna", "w")[0] == report(2, workers=2)


def test_an_older_report_that_comes_late_is_dropped(reports: ReportStore) -> None:
    reports.store("anna", report(2))
    assert not reports.store("anna", report(1))
    assert reports.newest("anna", "w")[0] == report(2)


def test_the_same_report_stored_again_is_kept(reports: ReportStore) -> None:
    reports.store("anna", report(1))
    assert reports.store("anna", report(1))


def test_a_report_is_its_owners_alone(reports: ReportStore) -> None:
    reports.store("anna", report(1))
    assert reports.newest("bert", "w") == (None, 0)


def test_a_counter_is_higher_than_that_of_any_report(reports: ReportStore) -> None:
    reports.store("anna", report(5))
    assert reports.next_counter("anna", "w") == 6


@given(order=st.permutations(range(1, 7)))
@settings(max_examples=20, deadline=None)
@pytest.mark.parametrize("kind", REPORT_STORES)
def test_whatever_order_checks_end_in_the_newest_stays(kind: str, order: list[int]) -> None:
    with TemporaryDirectory() as folder, REPORT_STORES[kind](Path(folder)) as reports:
        for counter in order:
            reports.store("anna", report(counter))
        assert reports.newest("anna", "w") == (report(6), 6)

"""The list of jobs: what a row says, filters that live in the address, and pages by cursor."""

import re
from datetime import timedelta

import pytest
from playwright.sync_api import Locator, expect

from chalicelib.contracts.job import JobState
from local_stack.records.file import Records
from local_stack.records.jobs import JobRecords
from tests.builders import START, job, later
from tests.ui.conftest import Opened
from tests.ui.console import Console
from tests.whole.conftest import LiveStack

pytestmark = [pytest.mark.process, pytest.mark.slow]

PAGE = 50
MANY = 60
ENDS = (JobState.FINISHED, JobState.FAILED, JobState.CANCELLED)


def add(stack: LiveStack, console: Console, number: int) -> None:
    """A job of the past, written where the stack keeps them."""
    begun = START + timedelta(hours=number)
    past = {"state": ENDS[number % 3], "running_at": begun, "ended_at": begun + timedelta(minutes=12), "rounds_done": number % 6}
    name, owner = f"run-{number}", console.client.account.me().user
    made = job(id=f"job-01kc{number:022}", owner=owner, workspace=name, created_at=begun, start_deadline=later(1), **past)
    JobRecords(Records(stack.data / "records.db")).add(made, client_token=f"token-{number}", content="", workers=())


@pytest.fixture(scope="module")
def console(stack: LiveStack, opened_once: Opened) -> Console:
    """A user with more jobs than a page holds, run-0 the oldest."""
    console = opened_once("lister", "#/jobs")
    for number in range(MANY):
        add(stack, console, number)
    console.page.reload()
    expect(rows(console)).to_have_count(PAGE)
    return console


@pytest.fixture
def listed(console: Console) -> Console:
    """The list without any filter, its first page alone."""
    console.go("/profile")
    expect(console.heading()).not_to_have_text("Jobs")
    console.go("/jobs")
    expect(rows(console)).to_have_count(PAGE)
    return console


def rows(console: Console) -> Locator:
    return console.page.locator("tbody tr")


def test_k2_a_row_says_name_id_state_rounds_workers_and_how_long_it_ran(listed: Console) -> None:
    expect(rows(listed).first).to_contain_text(re.compile(r"run-59.*job-01kc0+59.*CANCELLED.*5 of 5.*3.*ago.*12 min", re.DOTALL))


def test_k2_a_rows_time_has_the_exact_utc_in_its_title(listed: Console) -> None:
    expect(rows(listed).first.locator("time")).to_have_attribute("title", re.compile(r"in UTC \d{4}-\d\d-\d\d \d\d:\d\d:\d\d"))


def test_k4_the_newest_are_first_and_older_ones_come_by_cursor(listed: Console) -> None:
    listed.button("Show older jobs").click()
    expect(rows(listed)).to_have_count(MANY)
    expect(rows(listed).last).to_contain_text("run-0")
    expect(listed.button("Show older jobs")).to_have_count(0)


def test_k1_a_state_filters_is_counted_and_stays_in_the_address(listed: Console) -> None:
    state = listed.page.get_by_label("State")
    expect(state.get_by_role("option", name="FINISHED (16)")).to_be_attached()
    state.select_option("FINISHED")
    expect(rows(listed)).to_have_count(16)
    listed.page.reload()
    expect(rows(listed)).to_have_count(16)


def test_k1_a_search_finds_by_name(listed: Console) -> None:
    listed.page.get_by_label("Search jobs").fill("RUN-58")
    expect(rows(listed)).to_have_count(1)


def test_k1_a_search_without_a_hit_says_where_it_looked_and_leads_back(listed: Console) -> None:
    listed.page.get_by_label("Search jobs").fill("run-1xyz")
    expect(listed.page.get_by_text("None of the newest 50 jobs matches.")).to_be_visible()
    listed.link("Show all").click()
    expect(rows(listed)).to_have_count(PAGE)


@pytest.mark.parametrize(("wish", "first"), [("oldest", "run-10"), ("name", "run-10"), ("newest", "run-59")])
def test_k1_the_list_can_be_sorted(listed: Console, wish: str, first: str) -> None:
    listed.page.get_by_label("Sort").select_option(wish)
    expect(rows(listed).first).to_contain_text(first)


def test_k1_a_job_begun_elsewhere_appears_when_the_tab_is_looked_at_again(listed: Console, stack: LiveStack) -> None:
    add(stack, listed, 99)
    listed.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(rows(listed).first).to_contain_text("run-99")


def test_a14_a_user_without_jobs_is_led_to_the_first_one(opened: Opened) -> None:
    console = opened("newcomer", "#/jobs")
    expect(console.link("Submit the first one")).to_have_attribute("href", "#/")

"""Step 3: rounds and timeouts."""

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import Opened
from tests.ui.console import Console
from tests.ui.labels import LABELS
from tests.ui.steps import at, field, fresh, onward

pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.fixture(scope="module")
def tab(opened_once: Opened) -> Console:
    return opened_once("federator", "#/")


@pytest.fixture
def console(tab: Console) -> Console:
    """Step 3 of a new wizard."""
    return onward(fresh(tab, "Federation"), "federation")


def test_f1_a_value_out_of_the_schemas_bounds_is_told_at_its_field(console: Console) -> None:
    field(console, "Rounds").fill("0")
    console.button("Continue to Model").click()
    expect(field(console, "Rounds")).to_be_focused()
    expect(console.page.get_by_text("Rounds is at least 1.")).to_have_count(1)


def test_f2_seconds_also_read_as_minutes(console: Console) -> None:
    expect(console.page.get_by_text("s = 10 min", exact=True)).to_be_visible()
    field(console, "Heartbeat timeout").fill("1 h 30 min")
    expect(console.page.get_by_text("= 5,400 s", exact=True)).to_be_visible()


def test_f2_no_training_timeout_reads_as_no_limit(console: Console) -> None:
    expect(field(console, "Training timeout")).to_have_accessible_description(
        "Seconds a worker may train in one round. 0 means no limit. s, no limit"
    )


def test_f3_the_minimum_of_one_to_eight_workers_is_shown_on_focus_until_escape(console: Console) -> None:
    table = console.page.get_by_role("table", name="Set at launch")
    expect(table).to_have_count(0)
    field(console, "Minimum workers per round").focus()
    expect(table.get_by_role("row", name="minimum")).to_have_text("minimum12234456")
    console.page.keyboard.press("Escape")
    expect(table).to_have_count(0)


def test_f3_the_minimum_of_one_to_eight_workers_is_shown_on_hover(console: Console) -> None:
    field(console, "Minimum workers per round").hover()
    expect(console.page.get_by_role("table", name="Set at launch")).to_be_visible()


def test_f4_all_five_go_back_to_their_defaults_and_undo_brings_them_back(console: Console) -> None:
    labels = [each["label"] for each in LABELS["federation"]["fields"]]
    for label in labels:
        field(console, label).fill("77")
    console.button("Revert to defaults").click()
    assert [field(console, label).input_value() for label in labels] == [
        each["default"] for each in LABELS["federation"]["fields"]
    ]
    console.button("Undo").last.click()
    expect(field(console, "Rounds")).to_have_value("77")


def test_undo_reaches_over_the_step_that_was_left(console: Console) -> None:
    field(console, "Rounds").fill("9")
    console.button("Revert to defaults").click()
    onward(console, "model")
    console.button("Undo").last.click()
    console.link("← Back").click()
    expect(field(at(console, "federation"), "Rounds")).to_have_value("9")


def test_f5_a_straggler_wait_longer_than_the_heartbeat_warns(console: Console) -> None:
    warning = console.page.get_by_text("The wait for stragglers is longer than the heartbeat timeout")
    expect(warning).to_have_count(0)
    field(console, "Wait for stragglers").fill("11 min")
    expect(warning).to_be_visible()

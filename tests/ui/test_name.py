"""Step 1: a name, and the folder that it becomes."""

import pytest
from playwright.sync_api import expect

from chalicelib.domain.naming import clean_name
from tests.ui.conftest import Opened
from tests.ui.console import Console
from tests.ui.labels import LABELS
from tests.ui.steps import at, field, fresh

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def console(opened_once: Opened) -> Console:
    """One tab for all; each test begins a wizard of its own."""
    console = opened_once("namer", "#/")
    console.client.workspaces.create("taken")
    return console


def test_n1_the_cleaned_name_and_its_folder_are_shown_as_typed(console: Console) -> None:
    fresh(console, "  Café 101 Fine-tune ")
    preview = console.page.locator(".preview")
    expect(preview).to_have_text("Name cafe-101-fine-tune, workspace folder jobs/cafe-101-fine-tune/")


@pytest.mark.parametrize("typed", ["Ünïcode ﬁle", "a/b c", "  x  ", "0", "日本 1", "a" * 80])
def test_n2_the_cleaned_name_is_the_platforms(console: Console, typed: str) -> None:
    fresh(console, typed)
    expect(console.page.locator(".preview code").first).to_have_text(clean_name(typed) or "")


def test_n3_a_name_without_letter_or_digit_is_explained_on_press(console: Console) -> None:
    fresh(console, "!!! ---")
    button = console.button("Continue to Training")
    expect(button).to_be_enabled()
    button.click()
    expect(console.page.get_by_text("The name needs at least one letter or digit.")).to_have_count(1)
    expect(field(console, "Name")).to_be_focused()


def test_n3_a_name_that_is_missing_is_said_at_the_field(console: Console) -> None:
    fresh(console, "")
    console.button("Continue to Training").click()
    expect(field(console, "Name")).to_have_accessible_description(
        "Becomes the folder jobs/<name>/: lower case, white space as dashes, only letters, digits, - and _; "
        "at least one letter or digit. Name is missing."
    )


def test_n4_a_folder_that_exists_can_be_opened(console: Console) -> None:
    fresh(console, "Taken")
    console.link("Open it").click()
    at(console, "validate")
    assert console.route() == "/submit/validate?workspace=taken"


def test_n4_a_folder_that_exists_offers_the_first_free_name(console: Console) -> None:
    console.client.workspaces.create("taken-2")
    fresh(console, "Taken")
    console.button("Use taken-3").click()
    expect(console.page.locator(".preview")).to_contain_text("jobs/taken-3/")
    expect(console.link("Open it")).to_have_count(0)


def test_n5_any_paste_works_and_enter_continues(console: Console) -> None:
    fresh(console, "")
    console.page.keyboard.insert_text("Röntgen\t<b>7</b> 🫁 run\n")
    expect(console.page.locator(".preview")).to_contain_text("jobs/rontgen-b7b--run/")
    console.page.keyboard.press("Enter")
    at(console, "training")


def test_a_reload_before_the_first_continue_keeps_the_name(console: Console) -> None:
    fresh(console, "Half a name")
    console.page.reload()
    expect(field(at(console, "name"), "Name")).to_have_value("Half a name")


def test_the_browsers_way_back_leads_to_the_same_draft(console: Console) -> None:
    fresh(console, "One draft")
    console.button(LABELS["name"]["buttons"][0]).click()
    draft = at(console, "training").route().partition("draft=")[2]
    console.page.go_back()
    at(console, "name")
    assert console.route() == f"/submit/name?draft={draft}"

"""The guides: each opens, its headings have addresses, its code can be copied."""

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import Opened
from tests.ui.console import Console

pytestmark = [pytest.mark.process, pytest.mark.slow]
TITLES = {
    "sharding": "Dataset format and sharding",
    "porting": "Port a centralized recipe",
    "hardware": "Choosing hardware",
    "tracking": "Track a job",
}


@pytest.fixture(scope="module")
def help_page(opened_once: Opened) -> Console:
    return opened_once("hal", "#/help/start", bucket=False, permissions=["clipboard-read", "clipboard-write"])


@pytest.mark.parametrize("topic", TITLES)
def test_each_guide_is_reached_from_the_list(help_page: Console, topic: str) -> None:
    help_page.go("#/help/start")
    help_page.page.locator("main").get_by_role("link", name=TITLES[topic]).click()
    expect(help_page.heading()).to_have_text(TITLES[topic])
    expect(help_page.page.locator("article h2").first).to_be_visible()


def test_a_link_to_a_heading_leads_to_it(help_page: Console) -> None:
    help_page.go("#/help/sharding?at=how-to-split")
    expect(help_page.page.locator("#how-to-split")).to_be_focused()
    expect(help_page.page.locator("#how-to-split")).to_be_in_viewport()


def test_code_is_copied_as_it_is_written(help_page: Console) -> None:
    help_page.go("#/help/tracking")
    code = help_page.page.locator("article figure").filter(has_text="def load_model")
    code.get_by_role("button", name="Copy").click()
    expect(help_page.page.get_by_role("region", name="Notes")).to_contain_text("Code copied")
    assert help_page.page.evaluate("navigator.clipboard.readText()") == code.locator("pre").inner_text()


def test_a_guide_that_is_not_there_names_those_that_are(help_page: Console) -> None:
    help_page.go("#/help/nothing")
    expect(help_page.page.locator("main")).to_contain_text("There is no guide of that name.")

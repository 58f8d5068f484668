"""The start page: three ways to begin, the drafts of this browser, the workspaces of the bucket."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.ui.bucket import open_bucket
from tests.ui.conftest import Opened
from tests.ui.console import Console

pytestmark = [pytest.mark.process, pytest.mark.slow]

UNDO_MS = 8_000
TRAINING = "Federation, step 3 of 7"


@pytest.fixture(scope="module")
def signed_in(opened_once: Opened) -> Console:
    """A user with two workspaces."""
    console = opened_once("start-owner", "#/jobs")
    for name in ("digits", "food101"):
        console.client.workspaces.create(name)
    return console


@pytest.fixture
def start(signed_in: Console) -> Console:
    """The start page of a browser without drafts."""
    signed_in.go("#/jobs")
    signed_in.page.evaluate("Object.keys(localStorage).forEach(key => localStorage.removeItem(key))")
    return arrive(signed_in)


def arrive(console: Console) -> Console:
    console.go("#/jobs")
    expect(console.heading()).to_have_text("Jobs")
    console.go("#/")
    expect(section(console, "Drafts")).to_be_visible()
    return console


def keep(console: Console, id: str, **changes: Any) -> None:
    """What an earlier visit saved in this browser a minute ago."""
    draft = {"id": id, "title": f"Draft {id}", "step": "federation", "values": {}, "launchToken": f"token-{id:x<20}", "format": 1}
    console.page.evaluate(
        "([key, draft]) => localStorage.setItem(key, JSON.stringify({savedAt: Date.now() - 61000, ...draft}))",
        [f"tutti.draft.{id}", draft | changes],
    )


def section(console: Console, title: str) -> Locator:
    """A part of the page by its heading."""
    return console.page.get_by_role("region", name=title)


def test_s1_a_user_without_a_bucket_makes_one_and_is_back_at_the_start(opened: Opened) -> None:
    console = opened("start-new", bucket=False)
    expect(console.page.get_by_text("you have none yet")).to_have_count(1)
    console.button("Create my bucket").click()
    expect(console.heading()).to_have_text("Submit job")
    assert console.route() == "/"


def test_s1_other_pages_lead_to_the_bucket_and_back_in_the_same_way(opened: Opened) -> None:
    console = opened("start-files", "#/files?prefix=jobs%2F", bucket=False)
    console.link("Create my bucket").click()
    console.button("Create my bucket").click()
    expect(console.heading()).to_have_text("Files")
    assert console.route() == "/files?prefix=jobs%2F"


def test_s2_there_are_the_three_ways_of_the_specification(start: Console) -> None:
    titles = start.page.locator("main li h2")
    expect(titles).to_have_text(["New workspace", "From existing workspace", "Saved drafts"])


def test_s2_a_card_is_one_link_as_large_as_the_card(start: Console) -> None:
    card = start.page.locator("main li", has=start.page.get_by_role("heading", name="New workspace"))
    assert card.get_by_role("link").count() == 1
    card.click(position={"x": 4, "y": 4})
    expect(start.heading()).to_have_text("Name your training run")


def test_s2_browse_bucket_leads_to_the_search_of_the_workspaces(start: Console) -> None:
    start.link("Browse bucket").click()
    expect(start.page.get_by_label("Search workspaces")).to_be_focused()


def test_s3_a_draft_shows_its_name_step_and_age_and_is_resumed_at_that_step(start: Console) -> None:
    keep(start, "a")
    arrive(start)
    expect(section(start, "Drafts").get_by_role("listitem")).to_contain_text(f"Draft a{TRAINING}, saved 1 min ago")
    start.link("Resume Draft a").click()
    expect(start.heading()).to_have_text("Federation")


def test_s3_a_draft_is_deleted_without_a_question_and_had_back_by_undo(start: Console) -> None:
    keep(start, "a")
    arrive(start)
    start.button("Delete the draft Draft a").click()
    expect(start.link("Resume Draft a")).to_have_count(0)
    start.button("Undo").click()
    expect(start.link("Resume Draft a")).to_be_visible()


def test_s3_undo_is_offered_for_eight_seconds(opened: Opened) -> None:
    console = opened("start-undo", "#/jobs")
    keep(console, "a")
    console.page.clock.install(time=0)
    arrive(console)
    console.page.clock.pause_at(60_000)
    console.button("Delete the draft Draft a").click()
    console.page.clock.run_for(UNDO_MS - 100)
    expect(console.button("Undo")).to_have_count(1)
    console.page.clock.run_for(200)
    expect(console.button("Undo")).to_have_count(0)


def test_s4_a_draft_saved_in_another_tab_appears_without_a_reload(start: Console) -> None:
    other = Console(start.page.context.new_page(), start.url, start.client)
    other.page.goto(f"{start.url}/auth/style.css")  # of the same origin, so of the same storage
    keep(other, "t", title="From the other tab")
    other.page.close()
    expect(start.link("Resume From the other tab")).to_be_visible()


def test_s5_it_is_said_once_that_drafts_live_in_this_browser(start: Console) -> None:
    keep(start, "a")
    arrive(start)
    expect(start.page.get_by_text("These drafts live in this browser")).to_have_count(1)


def test_s5_drafts_move_to_another_browser_as_a_file(start: Console, tmp_path: Path) -> None:
    keep(start, "a")
    keep(start, "b")
    arrive(start)
    with start.page.expect_download() as download:
        start.button("Export").click()
    file = tmp_path / "drafts.json"
    download.value.save_as(file)
    start.page.evaluate("['a', 'b'].forEach(id => localStorage.removeItem(`tutti.draft.${id}`))")
    arrive(start)
    start.page.get_by_label("Import").set_input_files(file)
    expect(section(start, "Drafts").get_by_role("link", name="Resume")).to_have_count(2)


def test_s5_a_file_without_drafts_is_told_apart(start: Console, tmp_path: Path) -> None:
    file = tmp_path / "drafts.json"
    file.write_text("{}")
    start.page.get_by_label("Import").set_input_files(file)
    expect(start.page.get_by_text("This file holds no drafts of Tutti.")).to_be_visible()


def test_s6_a_workspace_shows_its_shards_and_what_is_missing(start: Console) -> None:
    row = section(start, "Workspaces in your bucket").get_by_role("listitem").filter(has_text="food101")
    expect(row).to_contain_text("0 shards")
    expect(row).to_contain_text("Missing: shards")


def test_s6_a_workspace_opens_at_validate(start: Console) -> None:
    start.link("Open food101").click()
    expect(start.heading()).to_have_text("Check your workspace")
    assert start.route() == "/submit/validate?workspace=food101"


def test_s6_the_search_looks_at_more_workspaces_than_one_page(opened: Opened) -> None:
    console = opened("start-many", "#/jobs")
    bucket = open_bucket(console.client)
    for number in range(51):
        bucket.put(f"jobs/run-{number:02}/scripts/model_def.py")
    console.go("#/?search=run-50")
    expect(console.link("Open run-50")).to_be_visible()


def test_s7_a_draft_of_an_older_site_opens(start: Console) -> None:
    keep(start, "old", format=None, values={"training": {"unknown": 1}})
    arrive(start)
    start.link("Resume Draft old").click()
    expect(start.heading()).to_have_text("Federation")


def test_s7_a_draft_of_a_newer_site_says_why_it_does_not_open(start: Console) -> None:
    keep(start, "new", format=99)
    arrive(start)
    expect(section(start, "Drafts")).to_contain_text("saved by a newer version of the console")


def test_a1_the_search_of_the_workspaces_is_in_the_address(start: Console) -> None:
    start.page.get_by_label("Search workspaces").fill("FOOD")
    expect(start.link("Open digits")).to_have_count(0)
    start.page.reload()
    expect(start.page.get_by_label("Search workspaces")).to_have_value("FOOD")
    expect(start.link("Open food101")).to_be_visible()


def test_a14_a_browser_without_drafts_is_told_what_to_do_next(start: Console) -> None:
    expect(section(start, "Drafts").get_by_role("link")).to_have_attribute("href", "#/submit/name")


def test_a10_a_time_has_the_exact_utc_beside_it(start: Console) -> None:
    keep(start, "a", savedAt=1_750_000_000_123)
    arrive(start)
    expect(section(start, "Drafts").locator("time")).to_have_attribute("title", re.compile("UTC 2025-06-15 15:06:40$"))

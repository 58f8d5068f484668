"""Step 7: picking workers, and a launch that gives one job whatever happens on the way."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.ui.conftest import Opened
from tests.ui.console import Console
from tests.ui.folders import BLOCKED, filled

pytestmark = [pytest.mark.process, pytest.mark.slow]

A5000, H100 = "nvidia-rtx-a5000", "nvidia-h100-sxm"


@pytest.fixture(scope="module")
def console(opened_once: Opened) -> Console:
    """One tab for all tests of this file; each goes to a workspace of its own, or changes nothing but the pick."""
    return opened_once("launcher", "#/jobs")


@pytest.fixture(scope="module")
def pair(console: Console, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A workspace of two shards that nobody launches."""
    return filled(console.client, tmp_path_factory.mktemp("pair"), "pair", shards=2)


@pytest.fixture
def choice(console: Console, pair: str) -> Console:
    """Step 7 of that workspace, nothing picked."""
    at_step_7(console, f"workspace={pair}")
    return console


@pytest.fixture
def fresh(console: Console, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A workspace of one shard whose training does not end; its jobs are stopped afterwards."""
    name = filled(console.client, tmp_path, re.sub(r"[^a-z0-9]+", "-", request.node.name)[5:50], model_def=BLOCKED)
    yield name
    console.page.unroute_all()
    for job in console.client.jobs.list(workspace=name):
        console.client.jobs.cancel(job.id)


def at_step_7(console: Console, query: str) -> None:
    """Step 7 as if the address was opened."""
    console.go("/jobs")
    expect(console.heading()).to_have_text("Jobs")
    console.go(f"/submit/launch?{query}")
    expect(console.page.get_by_role("radio").first).to_be_attached()


def radio(console: Console, title: str) -> Locator:
    return console.page.get_by_role("radio", name=title)


def launch(console: Console) -> Locator:
    return console.button("Launch training job")


def overlay(console: Console) -> Locator:
    return console.page.get_by_role("dialog")


def jobs_of(console: Console, workspace: str) -> list[str]:
    return [job.id for job in console.client.jobs.list(workspace=workspace)]


def with_draft(console: Console, workspace: str) -> str:
    """A draft that has come to step 7; its id."""
    draft: dict[str, Any] = {
        "format": 1,
        "id": f"draft-{workspace}",
        "title": workspace,
        "step": "launch",
        "savedAt": 1,
        "values": {},
    }
    draft |= {"workspace": workspace, "etag": None, "generated": {}, "launchToken": f"token-of-{workspace}"[:64]}
    console.page.evaluate("draft => localStorage.setItem('tutti.draft.' + draft.id, JSON.stringify(draft))", draft)
    return str(draft["id"])


def drafts(console: Console) -> list[str]:
    keys: list[str] = json.loads(console.page.evaluate("JSON.stringify(Object.keys(localStorage))"))
    return [key.removeprefix("tutti.draft.") for key in keys if key.startswith("tutti.draft.")]


def lose_the_answer(console: Console) -> None:
    """The launch reaches the API; its answer, once, never reaches the page."""

    def cut(route: Route) -> None:
        if route.request.method == "POST":
            route.fetch()
        route.abort()

    console.page.route("**/api/jobs", cut, times=1)


def test_g1_the_offers_are_one_radio_group_that_the_arrows_move(choice: Console) -> None:
    radio(choice, "This machine's processor").focus()
    choice.page.keyboard.press("ArrowDown")
    expect(radio(choice, "NVIDIA RTX A5000")).to_be_checked()


def test_g1_a_digit_picks_the_card_of_that_number(choice: Console) -> None:
    choice.page.keyboard.press("3")
    expect(radio(choice, "NVIDIA H100 SXM")).to_be_checked()
    expect(radio(choice, "NVIDIA H100 SXM")).to_be_focused()


def test_a1_the_pick_is_in_the_address(choice: Console) -> None:
    choice.page.get_by_text("NVIDIA RTX A5000").first.click()
    expect(choice.page).to_have_url(re.compile(f"gpu={A5000}"))


def test_g3_a_refresh_keeps_the_pick_and_the_focus(choice: Console) -> None:
    choice.page.keyboard.press("1")
    with choice.page.expect_response("**/api/offers"):
        choice.page.get_by_role("button", name="Refresh").dispatch_event("click")
    expect(radio(choice, "This machine's processor")).to_be_checked()
    expect(radio(choice, "This machine's processor")).to_be_focused()


def test_g5_a_type_with_too_few_free_can_be_picked_and_says_why_the_launch_is_locked(choice: Console) -> None:
    choice.page.keyboard.press("3")
    expect(launch(choice)).to_have_attribute("aria-disabled", "true")
    expect(launch(choice)).to_have_accessible_description(re.compile("NVIDIA H100 SXM has 1 free, you need 2"))


def test_g6_the_workers_one_would_get_are_said_and_drawn(choice: Console) -> None:
    choice.page.keyboard.press("2")
    card = choice.page.locator("label", has=radio(choice, "NVIDIA RTX A5000"))
    expect(card).to_contain_text("2 yours of 2 free")
    expect(card.locator("i.yours")).to_have_count(2)


def test_g9_the_total_is_written_with_its_currency(choice: Console) -> None:
    choice.page.keyboard.press("2")
    expect(choice.page.get_by_role("complementary")).to_contain_text(re.compile(r"Total per hour.*\$0\.00", re.DOTALL))


def test_g11_a_double_click_launches_one_job(console: Console, fresh: str) -> None:
    at_step_7(console, f"workspace={fresh}&gpu=cpu")
    launch(console).dblclick()
    expect(overlay(console).get_by_role("heading", name="Job launched")).to_be_visible()
    assert len(jobs_of(console, fresh)) == 1


def test_g11_a_retry_after_a_lost_answer_gives_the_same_job(console: Console, fresh: str) -> None:
    at_step_7(console, f"workspace={fresh}&gpu=cpu")
    lose_the_answer(console)
    launch(console).click()
    expect(console.page.get_by_role("alert")).to_contain_text("The API does not answer")
    console.button("Try again").click()
    expect(overlay(console)).to_contain_text(re.compile(r"job-\w{26}"))
    assert len(jobs_of(console, fresh)) == 1


def test_g13_a_reload_before_the_launch_was_answered_finds_the_job(console: Console, fresh: str) -> None:
    at_step_7(console, f"draft={with_draft(console, fresh)}&gpu=cpu")
    lose_the_answer(console)
    launch(console).click()
    expect(console.page.get_by_role("alert")).to_be_visible()
    console.page.reload()
    expect(overlay(console).get_by_role("heading", name="Job launched")).to_be_visible()
    (job,) = jobs_of(console, fresh)
    expect(overlay(console)).to_contain_text(job)


def test_g13_a_reload_of_the_overlay_finds_the_job_and_its_live_status(console: Console, fresh: str) -> None:
    at_step_7(console, f"workspace={fresh}&gpu=cpu")
    launch(console).click()
    expect(overlay(console).get_by_role("heading", name="Job launched")).to_be_visible()
    console.page.reload()
    (job,) = jobs_of(console, fresh)
    expect(overlay(console)).to_contain_text(job)
    overlay(console).get_by_role("link", name="View live status").click()
    expect(console.heading()).to_have_text(fresh)
    assert console.route() == f"/jobs/{job}"


def test_g13_the_closed_overlay_leaves_the_page_with_a_link_to_the_job(console: Console, fresh: str) -> None:
    at_step_7(console, f"workspace={fresh}&gpu=cpu")
    launch(console).click()
    expect(overlay(console).get_by_role("heading", name="Job launched")).to_be_visible()
    console.page.keyboard.press("Escape")
    expect(overlay(console)).to_have_count(0)
    (job,) = jobs_of(console, fresh)
    expect(console.link("See that job")).to_have_attribute("href", f"#/jobs/{job}")


def test_g14_a_launch_removes_the_draft_and_another_job_starts_from_defaults(console: Console, fresh: str) -> None:
    draft = with_draft(console, fresh)
    at_step_7(console, f"draft={draft}&gpu=cpu")
    launch(console).click()
    overlay(console).get_by_role("link", name="Submit another job").click()
    expect(console.page.get_by_role("textbox").first).to_have_value("")
    assert draft not in drafts(console)


def test_g14_a_launch_that_was_refused_keeps_the_draft_and_says_why(console: Console, fresh: str, tmp_path: Path) -> None:
    draft = with_draft(console, fresh)
    at_step_7(console, f"draft={draft}&gpu={H100}")
    expect(launch(console)).to_have_attribute("aria-disabled", "false")
    rival = filled(console.client, tmp_path, "rival", model_def=BLOCKED)
    other = console.client.launch(rival, gpu_type=H100)
    launch(console).click()
    expect(console.page.get_by_role("alert")).to_contain_text("1 workers of type nvidia-h100-sxm are needed, 0 are free")
    console.client.jobs.cancel(other.id)
    assert draft in drafts(console)
    assert jobs_of(console, fresh) == []


def test_a_workspace_whose_job_runs_is_not_launched_again(console: Console, fresh: str) -> None:
    job = console.client.launch(fresh, gpu_type="cpu")
    at_step_7(console, f"workspace={fresh}&gpu=cpu")
    expect(console.link("See that job")).to_be_visible()
    launch(console).press("Enter")
    expect(console.page.locator("#locks")).to_be_focused()
    assert jobs_of(console, fresh) == [job.id]

"""The whole wizard and the page of a job, by keyboard alone; wherever the focus comes it can be seen."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tutti_fl import Settings
from tutti_fl.folder import read_folder

from tests.ui.conftest import Opened, Users
from tests.ui.console import Console
from tests.ui.senses import tab_to
from tests.ui.survey import begin_draft
from tests.whole.builders import FOREVER, folder, spoiled

pytestmark = [pytest.mark.process, pytest.mark.slow]

ENDLESS = spoiled("    epochs = ", f"{FOREVER}    epochs = ")


def press(page: Page, name: str, key: str = "Enter") -> None:
    """Walk to a control and press it."""
    tab_to(page, name)
    page.keyboard.press(key)


def choose(page: Page, name: str, *files: Path) -> None:
    """Walk to an upload and choose files; only the system's own dialog is left out."""
    tab_to(page, name)
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Space")
    chooser.value.set_files([str(file) for file in files])


def arrive(console: Console, heading: str) -> None:
    """The next page is there and has the focus."""
    expect(console.heading()).to_have_text(heading)
    expect(console.heading()).to_be_focused()


def test_r3_the_whole_wizard_works_by_keyboard_alone(opened: Opened, tmp_path: Path) -> None:
    console = opened("kim")
    page, root = console.page, folder(tmp_path / "line", shards=1, model_def=ENDLESS)
    arrive(console, "Submit job")
    press(page, "Start wizard")
    arrive(console, "Name your training run")
    tab_to(page, "Name")
    page.keyboard.type("By keyboard")
    page.keyboard.press("Enter")
    arrive(console, "Hyperparameters")
    press(page, "Continue to Federation")
    arrive(console, "Federation")
    press(page, "Continue to Model")
    arrive(console, "Your model")
    press(page, "Continue to Advanced")
    arrive(console, "Review the generated files")
    press(page, "Build workspace and continue")
    arrive(console, "Check your workspace")
    choose(page, "Upload to Scripts", root / "scripts/model_def.py")
    choose(page, "Upload to Dataset Shards", root / "shards/shard_0.zip")
    expect(console.button("Continue to Launch")).not_to_have_attribute("aria-disabled", "true")
    press(page, "Continue to Launch")
    arrive(console, "Choose your workers")
    tab_to(page, "This machine")
    page.keyboard.press("Space")
    expect(console.button("Launch training job")).not_to_have_attribute("aria-disabled", "true")
    press(page, "Launch training job")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("by-keyboard")
    press(page, "View live status")
    arrive(console, "by-keyboard")
    console.client.cancel(console.route().rpartition("/")[2])


def test_r3_the_page_of_a_job_works_by_keyboard_alone(opened: Opened, users: Users, tmp_path: Path) -> None:
    client = users.client("kay", bucket=True)
    client.workspaces.create("line", Settings())
    client.upload(read_folder(folder(tmp_path / "line", shards=1, model_def=ENDLESS)).sends("jobs/line/"))
    job = client.launch("line")
    console = opened("kay", "#/jobs")
    press(console.page, "line")
    arrive(console, "line")
    press(console.page, "Stop job")
    press(console.page, "Stop the job")
    expect(console.page.get_by_role("dialog")).to_have_count(0)
    expect(console.page.locator(".tag").first).to_contain_text("CANCELLED")
    assert job.id in console.route()


def test_r3_a_closed_dialog_gives_the_focus_back(opened: Opened) -> None:
    console = opened("kim", "#/jobs")
    press(console.page, "Commands")
    expect(console.page.get_by_role("dialog")).to_be_visible()
    console.page.keyboard.press("Escape")
    expect(console.page.get_by_role("dialog")).to_have_count(0)
    expect(console.page.get_by_role("button", name="Commands")).to_be_focused()


def test_r3_the_first_stop_of_the_keyboard_skips_to_the_content(opened: Opened) -> None:
    console = opened("kim", "#/jobs")
    console.page.evaluate("document.activeElement.blur()")
    press(console.page, "Skip to content")
    expect(console.page.locator("main")).to_be_focused()


@pytest.mark.parametrize("width", [360, 1280])
def test_r3_the_focus_is_never_under_a_bar(opened: Opened, width: int) -> None:
    console = opened("kim", viewport={"width": width, "height": 480})
    console.go(f"#/submit/federation?draft={begin_draft(console)}")
    arrive(console, "Federation")
    tab_to(console.page, "Revert to defaults")

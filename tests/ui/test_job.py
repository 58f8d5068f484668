"""The job page: where a job is and why it ended, its workers, rounds and last lines, and how to stop it."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Locator, expect
from tutti_fl import Client

from tests.ui.conftest import Opened, Users
from tests.ui.console import Console
from tests.ui.folders import BLOCKED, launched
from tests.whole.builders import spoiled

pytestmark = [pytest.mark.process, pytest.mark.slow]

USER = "watcher"
RAISES = spoiled(
    "    epochs = int", '    print("about to fail")\n    raise RuntimeError("<b>no such column</b>")\n    epochs = int'
)
SLOW_PLACE = spoiled("    epochs = int", "    time.sleep(3)\n    epochs = int")


@dataclass(frozen=True)
class Jobs:
    """Jobs that were launched together: one that trains two rounds, one whose code raises, one that never ends."""

    finished: str
    failed: str
    endless: str


@pytest.fixture(scope="module")
def jobs(users: Users, tmp_path_factory: pytest.TempPathFactory) -> Jobs:
    """All three, under way."""
    client, root = users.client(USER, bucket=True), tmp_path_factory.mktemp("jobs")
    failed = launched(client, root, "raises", model_def=RAISES)
    finished = launched(client, root, "trains", model_def=SLOW_PLACE, rounds=2)
    endless = launched(client, root, "endless", model_def=BLOCKED)
    return Jobs(finished.id, failed.id, endless.id)


@pytest.fixture(scope="module")
def console(jobs: Jobs, opened_once: Opened) -> Console:
    """The page of the job that trains, opened before its first round has ended."""
    return opened_once(USER, f"#/jobs/{jobs.finished}")


def at(console: Console, job: str) -> None:
    """The page of this job, with its name as the heading."""
    console.go(f"/jobs/{job}")
    expect(console.heading()).not_to_have_text("Job")
    expect(console.page.get_by_text(job).first).to_be_visible()


def table(console: Console, name: str) -> Locator:
    return console.page.get_by_role("region", name=name).get_by_role("table")


def wait_for_end(client: Client, job: str) -> None:
    for _ in client.follow(job):
        pass


def test_j7_the_model_appears_without_a_reload_and_loads(console: Console, tmp_path: Path) -> None:
    console.page.evaluate("window.sameLoad = true")
    with console.page.expect_download(timeout=60_000) as download:
        console.page.get_by_role("button", name="Download").click(timeout=60_000)
    download.value.save_as(tmp_path / "model.pt")
    assert torch.load(tmp_path / "model.pt", weights_only=True).keys() == {"layer.weight", "layer.bias"}
    assert console.page.evaluate("window.sameLoad") is True


def test_j1_a_finished_job_says_its_state_and_its_rounds(console: Console, jobs: Jobs) -> None:
    wait_for_end(console.client, jobs.finished)
    at(console, jobs.finished)
    expect(console.page.locator(".tag", has_text="FINISHED")).to_be_visible()
    expect(console.page.locator("dl.facts")).to_contain_text(re.compile(r"Round\s*2\s*of 2"))
    expect(console.button("Stop job")).to_have_count(0)


def test_j6_each_round_has_a_row_with_loss_and_samples_and_the_best_is_marked(console: Console, jobs: Jobs) -> None:
    at(console, jobs.finished)
    rounds = table(console, "Rounds").locator("tbody tr")
    expect(rounds).to_have_count(2)
    expect(rounds.nth(1)).to_contain_text(re.compile(r"2 best\s*\d\.\d+\s*60"))


def test_j11_the_title_shows_the_state(console: Console, jobs: Jobs) -> None:
    at(console, jobs.finished)
    expect(console.page).to_have_title("FINISHED · trains · Tutti")


def test_the_log_has_the_lines_of_every_site_and_can_be_narrowed_to_one(console: Console, jobs: Jobs) -> None:
    at(console, jobs.finished)
    lines = console.page.get_by_role("region", name="The last lines")
    expect(lines).to_contain_text("trained on 60 rows")
    expect(lines.locator("b", has_text="server").first).to_be_attached()
    console.page.get_by_label("Source").select_option("site-1")
    expect(lines.locator("b", has_text="server")).to_have_count(0)


def test_j9_a_failed_job_puts_cause_place_last_lines_and_the_fix_on_top(console: Console, jobs: Jobs) -> None:
    wait_for_end(console.client, jobs.failed)
    at(console, jobs.failed)
    expect(console.page.locator(".tag", has_text="FAILED")).to_be_visible()
    reason = console.page.locator("section.reason")
    expect(reason.get_by_role("heading")).to_contain_text("no such column")
    expect(reason).to_contain_text(re.compile(r"site-1 · scripts/model_def\.py, line \d+ · round 1 · at fault: your code"))
    expect(reason).to_contain_text("What to do:")
    expect(reason.locator("pre")).to_contain_text('raise RuntimeError("<b>no such column</b>")')


def test_j19_markup_in_a_message_is_text(console: Console, jobs: Jobs) -> None:
    wait_for_end(console.client, jobs.failed)
    at(console, jobs.failed)
    expect(console.page.locator("section.reason")).to_contain_text("<b>no such column</b>")
    expect(console.page.locator("section.reason h2 b")).to_have_count(0)


def test_j8_stop_names_the_loss_and_leaves_a_job_that_runs_alone_until_confirmed(console: Console, jobs: Jobs) -> None:
    at(console, jobs.endless)
    console.button("Stop job").click()
    dialog = console.page.get_by_role("dialog", name="Stop this job?")
    expect(dialog).to_contain_text("No round is finished yet, so there is no model.")
    dialog.get_by_role("button", name="Let it run").click()
    expect(console.button("Stop job")).to_be_focused()
    assert console.client.jobs.get(jobs.endless).ending is None


def test_j8_stop_ends_the_job_and_the_page_says_so(console: Console, jobs: Jobs) -> None:
    at(console, jobs.endless)
    console.button("Stop job").click()
    console.button("Stop the job").click()
    expect(console.page.locator(".tag", has_text="CANCELLED")).to_be_visible(timeout=40_000)
    expect(console.page.get_by_text("This job ended without a final model")).to_be_visible()


def test_a_job_that_is_not_there_says_so_and_leads_to_all_jobs(console: Console) -> None:
    console.go("/jobs/job-01kc0000000000000000000000")
    expect(console.page.get_by_role("alert")).to_contain_text("there is no job", ignore_case=True)
    expect(console.link("All jobs")).to_be_visible()

"""A worker that lives and does not move is told on the job page, on a stack that notices it soon."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.ui.conftest import Users, opening
from tests.ui.folders import BLOCKED, launched
from tests.whole.conftest import LiveStack, started

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.unproven]


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[LiveStack]:
    """A stack that calls a training stuck after three seconds without a sign of progress."""
    with started(tmp_path / "stack", tmp_path / "data", {**os.environ, "TUTTI_STUCK_AFTER_S": "3"}) as (_, url):
        yield LiveStack(url, tmp_path / "data")


def test_j5_a_worker_that_shows_no_progress_is_told_with_its_log_beside_it(
    impatient: LiveStack, browser: Browser, tmp_path: Path
) -> None:
    users = Users(impatient)
    job = launched(users.client("ada", bucket=True), tmp_path, "hangs", model_def=BLOCKED)
    with opening(impatient, browser, users) as opened:
        console = opened("ada", f"#/jobs/{job.id}")
        worry = console.page.get_by_role("region", name="Needs attention")
        expect(worry).to_contain_text("site-1 has shown no progress for", timeout=90_000)
        expect(console.page.locator(".tag", has_text="RUNNING")).to_be_visible()
        worry.get_by_role("link", name="Its log").click()
        expect(console.page.get_by_label("Source")).to_have_value("site-1")
    users.close()

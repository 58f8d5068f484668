"""Signing in: by the one-time code, silently after a reload, and nothing of it stays in the browser."""

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import Opened

pytestmark = pytest.mark.process


def test_a_reload_signs_in_silently_and_keeps_the_page(opened: Opened) -> None:
    console = opened("ada", "#/jobs")
    console.page.reload()
    expect(console.heading()).to_have_text("Jobs")
    assert console.route() == "/jobs"


def test_no_token_lies_in_the_browsers_storage(opened: Opened) -> None:
    console = opened("ada")
    stored = console.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert "eyJ" not in stored
    assert stored.endswith(", {}]") or stored.endswith(",{}]")

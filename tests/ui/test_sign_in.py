"""Signing in: by the one-time code, silently after a reload, and nothing of it stays in the browser."""

import pytest
from playwright.sync_api import Browser, expect

from tests.ui.conftest import Opened, Users
from tests.whole.conftest import LiveStack

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


def test_a_wrong_code_is_explained_and_the_right_one_leads_to_the_page_asked_for(
    stack: LiveStack, browser: Browser, users: Users
) -> None:
    users.client("ada", bucket=True)
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{stack.url}/#/jobs")
        page.get_by_label("One-time code").fill("0000-0000-0000-0000")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("This code is not right")
        page.get_by_label("One-time code").fill(users.code("ada").lower())
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_the_code_has_the_consoles_paper(stack: LiveStack, browser: Browser, scheme: str) -> None:
    with browser.new_context(color_scheme=scheme) as context:  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(f"{stack.url}/")
        expect(page.get_by_label("One-time code")).to_be_focused()
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(245, 246, 251)", "dark": "rgb(9, 13, 38)"}[scheme]


def test_who_signed_out_must_sign_in_again(opened: Opened) -> None:
    console = opened("ada", "#/profile")
    console.page.get_by_role("main").get_by_role("button", name="Sign out").click()
    expect(console.heading()).to_have_text("Signed out")
    console.link("Sign in again").click()
    expect(console.page.get_by_label("One-time code")).to_be_visible()

"""The shell around every page: addresses, keys, commands, theme, lost connections and ended sessions."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.conftest import Opened, Users
from tests.ui.console import Console

pytestmark = [pytest.mark.process, pytest.mark.slow]

PAGES = {"#/": "Submit job", "#/jobs": "Jobs", "#/files": "Files", "#/profile": "Profile & bucket"}
HOUR_MS = 3_600_000
TOUCH_PX = 44


@pytest.fixture(scope="module")
def signed_in(opened_once: Opened) -> Console:
    """A user with a bucket."""
    return opened_once("shell", "#/jobs")


@pytest.fixture
def shell(signed_in: Console) -> Console:
    """The console at the list of jobs, as a new visitor sees it."""
    signed_in.page.keyboard.press("Escape")
    signed_in.page.evaluate("localStorage.clear()")
    signed_in.go("#/none")
    expect(signed_in.heading()).to_have_text("There is no such page")
    signed_in.go("#/jobs")
    expect(signed_in.heading()).to_have_text("Jobs")
    return signed_in


@pytest.fixture(scope="module")
def phone(opened_once: Opened) -> Console:
    """The same on a phone."""
    return opened_once("shell", "#/jobs", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)


def at(console: Console, route: str) -> None:
    """Be at this page."""
    console.go(route)
    expect(console.heading()).to_have_text(PAGES[route.partition("?")[0]])


def test_a1_every_page_is_an_address_that_restores_itself(shell: Console) -> None:
    shell.page.goto(f"{shell.url}/#/files?prefix=jobs%2F")
    shell.page.reload()
    expect(shell.heading()).to_have_text("Files")
    assert shell.route() == "/files?prefix=jobs%2F"


def test_a1_an_address_that_is_none_says_so_and_leads_on(shell: Console) -> None:
    shell.go("#/no/such/page")
    expect(shell.heading()).to_have_text("There is no such page")
    expect(shell.link("Go to the start page")).to_have_attribute("href", "#/")


def test_a2_back_and_forward_show_what_was_seen(shell: Console) -> None:
    shell.page.set_viewport_size({"width": 1280, "height": 300})
    at(shell, "#/profile")
    expect(shell.page.get_by_role("heading", name="API keys")).to_be_visible()
    shell.page.mouse.move(700, 150)
    shell.page.mouse.wheel(0, 150)
    shell.page.wait_for_function("() => scrollY === 150")
    shell.link("Files").click()
    expect(shell.heading()).to_have_text("Files")
    assert shell.page.evaluate("scrollY") == 0
    shell.page.go_back()
    shell.page.wait_for_function("() => scrollY === 150")
    shell.page.set_viewport_size({"width": 1280, "height": 900})


def test_a3_the_way_to_every_page_is_a_link_that_opens_in_a_new_tab(shell: Console) -> None:
    with shell.page.context.expect_page() as opened:
        shell.page.get_by_role("navigation").get_by_role("link", name="Files").click(button="middle")
    expect(opened.value.get_by_role("heading", level=1)).to_have_text("Files")
    opened.value.close()


def commands(page: Page) -> Locator:
    """The list of commands, opened."""
    page.keyboard.press("Control+k")
    return page.get_by_role("dialog", name="Commands")


def test_a4_the_list_of_commands_goes_to_a_page(shell: Console) -> None:
    commands(shell.page)
    shell.page.keyboard.type("prof")
    shell.page.keyboard.press("Enter")
    expect(shell.heading()).to_have_text("Profile & bucket")


def test_a4_the_list_of_commands_resumes_a_draft(shell: Console) -> None:
    draft = '{"id": "d", "title": "Draft", "step": "model", "launchToken": "%s"}' % ("t" * 20)
    shell.page.evaluate("text => ['d', 'e'].forEach(id => localStorage.setItem(`tutti.draft.${id}`, text))", draft)
    commands(shell.page).get_by_role("option", name="Draft Draft").first.click()
    expect(shell.heading()).to_have_text("Your model")


def test_a4_the_list_of_commands_sets_the_theme_by_keys_alone(shell: Console) -> None:
    commands(shell.page)
    shell.page.keyboard.type("theme")
    shell.page.keyboard.press("ArrowDown")
    shell.page.keyboard.press("ArrowDown")
    shell.page.keyboard.press("Enter")
    expect(shell.page.locator("html")).to_have_attribute("data-theme", "dark")
    shell.button("Theme dark").click()


@pytest.mark.parametrize(("keys", "title"), [("gf", "Files"), ("gs", "Submit job"), ("gj", "Jobs")])
def test_a4_two_keys_lead_to_a_page(shell: Console, keys: str, title: str) -> None:
    at(shell, "#/profile")
    for key in keys:
        shell.page.keyboard.press(key)
    expect(shell.heading()).to_have_text(title)


def test_a4_a_question_mark_lists_the_shortcuts_and_they_can_be_turned_off(shell: Console) -> None:
    shell.page.keyboard.press("?")
    listed = shell.page.get_by_role("dialog", name="Keyboard shortcuts")
    listed.get_by_role("checkbox").uncheck()
    shell.page.keyboard.press("Escape")
    shell.page.keyboard.press("?")
    expect(listed).to_have_count(0)
    expect(commands(shell.page)).to_be_visible()


def test_a4_single_keys_are_text_inside_a_field(shell: Console) -> None:
    at(shell, "#/profile")
    field = shell.page.get_by_label("What the key is for")
    field.press_sequentially("g f?")
    expect(field).to_have_value("g f?")
    expect(shell.heading()).to_have_text("Profile & bucket")


def test_a5_a_chosen_theme_is_there_before_the_first_paint_of_the_next_visit(shell: Console) -> None:
    shell.button("Theme auto").click()
    shell.button("Theme light").click()
    shell.page.add_init_script(
        "new MutationObserver((_, watch) => document.body && (watch.disconnect(),"
        " window.firstTheme = document.documentElement.dataset.theme)).observe(document, {childList: true, subtree: true})"
    )
    shell.page.reload()
    expect(shell.button("Theme dark")).to_be_visible()
    assert shell.page.evaluate("window.firstTheme") == "dark"
    shell.button("Theme dark").click()


def test_a5_auto_follows_the_system(shell: Console) -> None:
    papers = []
    for scheme in ("light", "dark"):
        shell.page.emulate_media(color_scheme=scheme)
        papers.append(shell.page.evaluate("getComputedStyle(document.body).backgroundColor"))
    shell.page.emulate_media(color_scheme=None)
    assert papers == ["rgb(245, 246, 251)", "rgb(9, 13, 38)"]


def test_a6_what_takes_long_keeps_its_place_and_is_drawn_only_then(opened: Opened) -> None:
    console = opened("shell", "#/jobs")
    slow = {"offline": False, "latency": 1500, "downloadThroughput": -1, "uploadThroughput": -1}
    console.go("#/profile")
    expect(console.heading()).to_have_text("Profile & bucket")
    console.go("#/jobs")
    console.page.context.new_cdp_session(console.page).send("Network.emulateNetworkConditions", slow)
    seen = console.page.evaluate(
        """async () => {
          location.hash = "#/profile";
          const looks = [];
          for (const from = performance.now(); performance.now() - from < 1000; await new Promise(requestAnimationFrame)) {
            const box = document.querySelector("main [aria-busy] i")?.parentElement;
            if (box) looks.push([performance.now() - from, getComputedStyle(box).visibility, box.offsetHeight > 0]);
          }
          return looks;
        }"""
    )
    assert all(placed for _, _, placed in seen)
    assert {look for at_ms, look, _ in seen if at_ms < 190} <= {"hidden"}
    assert seen[-1][1] == "visible"


def test_a7_an_error_says_what_to_do_and_trying_again_mends_it(shell: Console) -> None:
    shell.page.route("**/api/workspaces*", lambda route: route.abort())
    at(shell, "#/")
    told = shell.page.get_by_role("alert")
    expect(told).to_contain_text("The API does not answer. Check the connection, then try again.")
    shell.page.unroute("**/api/workspaces*")
    told.get_by_role("button", name="Try again").click()
    expect(told).to_have_count(0)
    expect(shell.page.get_by_role("region", name="Workspaces in your bucket")).to_contain_text("None yet")


def test_a7_a_refusal_names_its_request(shell: Console) -> None:
    shell.go("#/jobs/job-none")
    expect(shell.page.get_by_text(re.compile(r"Request [0-9a-f-]{36}"))).to_be_visible()


def test_a8_being_offline_is_said_and_nothing_is_queued(shell: Console) -> None:
    shell.page.context.set_offline(True)
    banner = shell.page.get_by_text("nothing is queued")
    expect(banner).to_be_visible()
    shell.page.context.set_offline(False)
    expect(banner).to_have_count(0)


def test_a9_a_tab_of_an_older_build_offers_to_reload_and_does_not_do_it_by_itself(opened: Opened) -> None:
    console = opened("shell", "#/jobs")
    console.page.evaluate("document.querySelector('script[type=module]').setAttribute('src', './assets/index-older.js')")
    console.page.evaluate("window.stayed = true")
    at(console, "#/files")
    expect(console.button("Reload")).to_be_visible()
    assert console.page.evaluate("window.stayed")
    console.button("Reload").click()
    console.page.wait_for_function("() => !window.stayed")
    expect(console.heading()).to_have_text("Files")


def test_a13_an_ended_session_is_renewed_without_a_word_while_the_issuer_knows_the_user(opened: Opened) -> None:
    console = opened("shell", "#/jobs")
    console.page.clock.set_fixed_time(console.page.evaluate("Date.now()") + 2 * HOUR_MS)
    at(console, "#/profile")
    expect(console.page.get_by_text("No keys yet")).to_be_visible()
    expect(console.page.get_by_role("dialog")).to_have_count(0)


def test_a13_an_ended_session_keeps_what_was_typed_signs_in_beside_and_repeats_the_request(opened: Opened, users: Users) -> None:
    console = opened("shell-expired", "#/profile")
    console.page.get_by_label("What the key is for").fill("typed before")
    console.page.context.clock.set_fixed_time(console.page.evaluate("Date.now()") + 2 * HOUR_MS)
    console.page.context.clear_cookies()
    console.button("Make a key").click()
    with console.page.expect_popup() as opened_beside:
        console.page.get_by_role("dialog", name="Your session ended").get_by_role("button", name="Sign in").click()
    opened_beside.value.get_by_label("One-time code").fill(users.code("shell-expired"))
    opened_beside.value.get_by_role("button", name="Sign in").click()
    expect(console.page.get_by_role("dialog", name="Your new key")).to_be_visible()
    assert [key.label for key in console.client.account.api_keys() if key.label] == ["typed before"]


def test_r4_a_new_page_takes_the_focus_to_its_heading_and_sets_the_title(shell: Console) -> None:
    shell.link("Files").click()
    expect(shell.heading()).to_be_focused()
    expect(shell.page).to_have_title("Files · Tutti")


@pytest.mark.parametrize("route", PAGES)
def test_a15_a_phone_scrolls_no_page_sideways_and_has_targets_for_thumbs(phone: Console, route: str) -> None:
    at(phone, route)
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 360
    low = phone.page.evaluate(
        "least => [...document.querySelectorAll('nav a, nav button, main .button, main .input')].filter(it =>"
        " it.checkVisibility() && it.getBoundingClientRect().height < least - 0.5).map(it => it.outerHTML.slice(0, 90))",
        TOUCH_PX,
    )
    assert low == []


def test_a15_a_phone_reaches_theme_and_sign_out_by_the_menu(phone: Console) -> None:
    phone.page.get_by_role("button", name="Menu").tap()
    options = phone.page.get_by_role("dialog", name="Commands").get_by_role("option")
    expect(options.filter(has_text="Sign out")).to_have_count(1)
    options.filter(has_text="Theme: auto").tap()
    expect(phone.page.get_by_role("dialog")).to_have_count(0)

"""Everybody can use the console: WCAG 2.2 AA in both themes, with a screen reader, enlarged, on a phone, without a mouse."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tutti_fl import Client, Settings
from tutti_fl.folder import read_folder

from tests.ui import senses
from tests.ui.conftest import Opened, Users
from tests.ui.console import Console
from tests.ui.survey import WORKSPACE, Seen, begin_draft, look, views, visit
from tests.whole.builders import FOREVER, folder, spoiled

pytestmark = [pytest.mark.process, pytest.mark.slow]

USER = "iris"
DESKTOP = {"width": 1280, "height": 900}
ZOOMED_400 = {"width": 320, "height": 640}
"""What is left of 1280 pixels at 400 %."""
ZOOMED_200 = {"width": 640, "height": 450}
Survey = Mapping[str, Seen]
Surveyor = Callable[..., Survey]
WATCH = """() => {
    window.announced = [];
    const regions = "[aria-live], [role=status], [role=alert], [role=log], [role=timer]";
    new MutationObserver(changes => changes.forEach(({target}) => {
        const region = (target.nodeType === 1 ? target : target.parentElement).closest(regions);
        if (region) window.announced.push(region.textContent);
    })).observe(document.body, {subtree: true, childList: true, characterData: true});
}"""
LOOKS = ("findings", "sideways", "cut", "overlaps", "small")


@pytest.fixture(scope="module")
def job(users: Users, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The id of a job that trains until it is stopped."""
    client = users.client(USER, bucket=True)
    root = folder(
        tmp_path_factory.mktemp("iris") / "line", shards=1, model_def=spoiled("    epochs = ", f"{FOREVER}    epochs = ")
    )
    client.workspaces.create(WORKSPACE, Settings(federation={"rounds": 3}))
    client.upload(read_folder(root).sends(f"jobs/{WORKSPACE}/"))
    launched = client.launch(WORKSPACE)
    yield launched.id
    stop(client, launched.id)


def stop(client: Client, job_id: str) -> None:
    """Cancel a job and wait for its end."""
    client.cancel(job_id)
    for _ in client.follow(job_id):
        pass


@pytest.fixture(scope="module")
def surveyed(opened_once: Opened, job: str) -> Surveyor:
    """Visits all pages in a browser of these wishes, such as a theme or a size."""

    def survey(*, least: int = 24, **wishes: Any) -> Survey:
        console = opened_once(USER, **{"viewport": DESKTOP, **wishes})
        found = {}
        for view in views(begin_draft(console), job):
            visit(console, view)
            found[view.name] = look(console.page, view, least=least)
        return found

    return survey


@pytest.fixture(scope="module")
def pages(surveyed: Surveyor) -> Survey:
    """All pages on a desktop."""
    return surveyed(color_scheme="light")


@pytest.fixture(scope="module")
def zoomed(surveyed: Surveyor) -> Survey:
    """All pages at 400 %, which is also a very small phone, touched by fingers."""
    return surveyed(viewport=ZOOMED_400, has_touch=True, is_mobile=True, least=44)


def wrong(survey: Survey, what: str) -> dict[str, Any]:
    """The pages on which something of a kind was found."""
    return {name: getattr(seen, what) for name, seen in survey.items() if getattr(seen, what)}


def test_r1_axe_finds_nothing_on_any_page(pages: Survey) -> None:
    assert wrong(pages, "findings") == {}


def test_r4_each_page_has_its_heading_in_the_title(pages: Survey) -> None:
    assert {
        name: seen.title for name, seen in pages.items() if seen.view.title not in seen.title or "Tutti" not in seen.title
    } == {}


def test_r4_a_new_page_gives_the_focus_to_its_heading(pages: Survey) -> None:
    assert {name: seen.focus for name, seen in pages.items() if seen.focus != "H1"} == {}


def test_r5_every_page_has_one_polite_live_region(pages: Survey) -> None:
    assert {name: seen.live_regions for name, seen in pages.items() if seen.live_regions != 1} == {}


def test_r7_whatever_has_a_colour_of_its_own_has_a_word(pages: Survey) -> None:
    assert wrong(pages, "wordless") == {}


def test_r8_targets_have_24_pixels_under_a_mouse(pages: Survey) -> None:
    assert wrong(pages, "small") == {}


def test_r8_targets_have_44_pixels_under_a_finger(zoomed: Survey) -> None:
    assert wrong(zoomed, "small") == {}


def test_r10_at_400_percent_no_page_scrolls_sideways(zoomed: Survey) -> None:
    assert wrong(zoomed, "sideways") == {}


def test_r10_at_400_percent_nothing_is_cut(zoomed: Survey) -> None:
    assert wrong(zoomed, "cut") == {}


def test_r10_at_400_percent_nothing_overlaps(zoomed: Survey) -> None:
    assert wrong(zoomed, "overlaps") == {}


def test_r1_axe_finds_nothing_on_a_very_small_screen(zoomed: Survey) -> None:
    assert wrong(zoomed, "findings") == {}


def test_r13_nothing_is_locked_without_a_reason(pages: Survey) -> None:
    assert wrong(pages, "locked_without_reason") == {}


def test_r14_every_page_names_its_language(pages: Survey) -> None:
    assert {seen.lang for seen in pages.values()} == {"en"}


@pytest.mark.slow
@pytest.mark.unproven
@pytest.mark.parametrize(
    "wishes",
    [
        {"color_scheme": "dark"},
        {"viewport": {"width": 360, "height": 780}, "has_touch": True, "is_mobile": True, "least": 44},
        {"viewport": {"width": 768, "height": 1024}},
        {"viewport": ZOOMED_200, "device_scale_factor": 2},
    ],
    ids=["dark", "phone", "tablet", "200 percent"],
)
def test_r1_axe_finds_nothing_and_nothing_is_cut_in_any_theme_or_size(surveyed: Surveyor, wishes: dict[str, Any]) -> None:
    survey = surveyed(**wishes)
    assert {what: wrong(survey, what) for what in LOOKS if wrong(survey, what)} == {}


@pytest.fixture(scope="module")
def newcomer(opened_once: Opened) -> Console:
    """Somebody who has a bucket and nothing in it."""
    return opened_once("nell")


@pytest.mark.parametrize("route", ["#/", "#/jobs", "#/files", "#/profile"])
def test_r1_an_empty_page_has_no_finding(newcomer: Console, route: str) -> None:
    newcomer.go(route)
    expect(newcomer.heading()).to_be_visible()
    expect(newcomer.page.locator("main [aria-busy=true]")).to_have_count(0)
    assert senses.findings(newcomer.page) == []


def test_r1_a_page_that_waits_has_no_finding(opened: Opened) -> None:
    console = opened("nell")
    console.page.route("**/api/me/bucket", lambda _: None)
    console.go("#/profile")
    expect(console.page.locator("[aria-busy=true]").first).to_have_class(re.compile("shown"))
    assert senses.findings(console.page) == []


def test_r1_a_page_that_could_not_load_has_no_finding(opened: Opened) -> None:
    console = opened("nell")
    console.page.route("**/api/me/keys", lambda route: route.abort())
    console.go("#/profile")
    expect(console.button("Try again")).to_be_visible()
    assert senses.findings(console.page) == []


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_r1_an_open_dialog_has_no_finding(opened: Opened, color_scheme: str) -> None:
    console = opened("nell", "#/jobs", color_scheme=color_scheme)
    console.page.keyboard.press("Control+k")
    expect(console.page.get_by_role("dialog")).to_be_visible()
    assert senses.findings(console.page) == []


def test_r5_a_countdown_is_not_announced(opened: Opened, job: str) -> None:
    console = opened(USER, f"#/submit/launch?workspace={WORKSPACE}")
    counter = console.page.get_by_role("button", name="Refresh").locator("span")
    expect(counter).to_have_text("19 s")
    console.page.evaluate(WATCH)
    expect(counter).to_have_text("17 s")
    assert console.page.evaluate("window.announced") == []


def test_r5_neither_ticking_numbers_nor_log_lines_are_announced(opened: Opened, job: str) -> None:
    console = opened(USER, f"#/jobs/{job}")
    expect(console.page.get_by_role("heading", name="Logs")).to_be_visible()
    loud = console.page.locator(":is([aria-live], [role=status], [role=log], [role=timer])")
    expect(loud.locator(".facts, .lines")).to_have_count(0)


def test_r6_an_error_is_tied_to_its_field(opened: Opened) -> None:
    console = opened("nell")
    console.go(f"#/submit/federation?draft={begin_draft(console)}")
    field = console.page.get_by_label("Rounds", exact=True)
    field.fill("many")
    console.button("Continue to Model").click()
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile("whole number"))


def test_r6_more_than_one_error_is_summed_up(opened: Opened) -> None:
    console = opened("nell")
    console.go(f"#/submit/federation?draft={begin_draft(console)}")
    for name in ("Rounds", "Heartbeat timeout"):
        console.page.get_by_label(name, exact=True).fill("many")
    console.button("Continue to Model").click()
    expect(console.page.get_by_role("alert")).to_contain_text("2 things")
    expect(console.page.get_by_role("alert").get_by_role("listitem")).to_have_count(2)


MOTION = """() => [...document.querySelectorAll("*")].filter(node => {
    const {animationDuration, transitionProperty, transitionDuration} = getComputedStyle(node);
    return parseFloat(animationDuration) > 0.001 || (transitionProperty !== "opacity" && parseFloat(transitionDuration) > 0);
}).map(node => node.outerHTML.slice(0, 80))"""


def test_r9_with_reduced_motion_nothing_moves(opened: Opened) -> None:
    console = opened("nell", "#/jobs", reduced_motion="reduce")
    console.page.locator("h1").evaluate("heading => heading.style.setProperty('transition', 'translate 2s')")
    console.page.keyboard.press("Control+k")
    expect(console.page.get_by_role("dialog")).to_be_visible()
    assert console.page.evaluate(MOTION) == []


@pytest.fixture(scope="module")
def forced(opened_once: Opened, job: str) -> Page:
    """The launch page in colours that the user's system forces."""
    console = opened_once(USER, f"#/submit/launch?workspace={WORKSPACE}&gpu=cpu", forced_colors="active")
    expect(console.page.get_by_role("radio", name="This machine")).to_be_checked()
    return console.page


def style(page: Page, selector: str, prop: str) -> str:
    """A computed property of the first element of a kind."""
    return str(page.locator(selector).first.evaluate(f"node => getComputedStyle(node).{prop}"))


@pytest.mark.parametrize("selector", [".button:not(.bare)", ".sheet", ".card"])
def test_r9_forced_colours_keep_borders(forced: Page, selector: str) -> None:
    assert float(style(forced, selector, "borderTopWidth").removesuffix("px")) >= 1


def test_r9_forced_colours_keep_the_focus_visible(forced: Page) -> None:
    assert senses.tab_to(forced, "Choosing hardware").ring >= 2


def test_r9_forced_colours_show_what_is_picked(forced: Page) -> None:
    picked = style(forced, ".card:has(:checked)", "outlineStyle"), style(forced, ".card:has(:checked)", "borderTopColor")
    forced.evaluate("document.querySelector('.card input').checked = false")
    assert picked != (style(forced, ".card", "outlineStyle"), style(forced, ".card", "borderTopColor"))


def test_r11_the_rounds_are_a_table_with_headings(opened: Opened, job: str) -> None:
    console = opened(USER, f"#/jobs/{job}")
    expect(console.page.get_by_role("region", name="Rounds").get_by_role("columnheader")).to_contain_text(["Round", "Loss"])


def test_r12_whatever_takes_a_drop_has_a_button_that_does_the_same(opened: Opened, job: str) -> None:
    console = opened(USER, f"#/submit/validate?workspace={WORKSPACE}")
    cards = console.page.locator(".card")
    expect(cards).to_have_count(5)
    expect(cards.locator("input[type=file]")).to_have_count(5)


def test_r13_a_locked_launch_says_why(opened: Opened, job: str) -> None:
    console = opened(USER, f"#/submit/launch?workspace={WORKSPACE}&gpu=cpu")
    expect(console.button("Launch training job")).to_have_accessible_description(
        re.compile("a job of this workspace|one job at a time", re.IGNORECASE)
    )


def test_r14_times_are_those_of_the_users_place_and_name_utc(opened: Opened, job: str) -> None:
    console = opened(USER, "#/", timezone_id="Pacific/Kiritimati")
    time = console.page.locator("main time").first
    utc = datetime.fromisoformat(str(time.get_attribute("datetime")))
    expect(time).to_have_attribute("title", re.compile(f"{local(utc)}.*{utc:%Y-%m-%d %H:%M}"))


def local(utc: datetime) -> str:
    """The hour and minute on Kiritimati, as American English writes them."""
    return (utc + timedelta(hours=14)).strftime("%I:%M").lstrip("0")

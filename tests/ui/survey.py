"""Every page of the console visited once, and what there is to say about each."""

from dataclasses import dataclass

from playwright.sync_api import Page, expect

from tests.ui import senses
from tests.ui.console import Console

DRAFT = "Iris flowers"
WORKSPACE = "line"

_FOCUS = "document.activeElement.tagName"
_MUTE = """() => [...document.querySelectorAll("[aria-disabled=true], :disabled")]
    .filter(node => node.checkVisibility() && !node.matches("[aria-disabled=true][aria-describedby]"))
    .map(node => node.outerHTML.slice(0, 120))"""
_WORDLESS = """() => [...document.querySelectorAll(".tag, .problem, .warn, [aria-current]")]
    .filter(node => node.checkVisibility() && !node.textContent.trim()).map(node => node.outerHTML)"""
_LIVE = "document.querySelectorAll('[aria-live=polite]:not(main *)').length"


@dataclass(frozen=True)
class View:
    """A page by its address, its heading, and a text that it has when it is all there."""

    name: str
    route: str
    title: str
    has: str


@dataclass(frozen=True)
class Seen:
    """A page as it was found."""

    view: View
    title: str
    focus: str
    lang: str
    live_regions: int
    findings: list[str]
    small: list[str]
    overlaps: list[str]
    cut: list[str]
    sideways: int
    locked_without_reason: list[str]
    wordless: list[str]


def views(draft: str, job: str) -> list[View]:
    """All pages: of a draft, of a workspace that is ready, of a job."""
    return [
        View("start", "#/", "Submit job", WORKSPACE),
        View("name", f"#/submit/name?draft={draft}", "Name your training run", "jobs/iris-flowers/"),
        View("training", f"#/submit/training?draft={draft}", "Hyperparameters", "Add a parameter"),
        View("federation", f"#/submit/federation?draft={draft}", "Federation", "Heartbeat timeout"),
        View("model", f"#/submit/model?draft={draft}", "Your model", "Model arguments"),
        View("advanced", f"#/submit/advanced?draft={draft}", "Review the generated files", "config_fed_server.json"),
        View("validate", f"#/submit/validate?workspace={WORKSPACE}", "Check your workspace", "Dataset Shards"),
        View("launch", f"#/submit/launch?workspace={WORKSPACE}", "Choose your workers", "free"),
        View("jobs", "#/jobs", "Jobs", job),
        View("job", f"#/jobs/{job}", WORKSPACE, "Trained model"),
        View("files", f"#/files?prefix=jobs/{WORKSPACE}/", "Files", "shards/"),
        View("shards", f"#/files?prefix=jobs/{WORKSPACE}/shards/", "Files", "shard_0.zip"),
        View("profile", "#/profile", "Profile & bucket", "API keys"),
        View("guides", "#/help/start", "Guides", "Choosing hardware"),
        View("guide", "#/help/sharding", "Dataset format and sharding", "shard"),
        View("absent", "#/nowhere", "There is no such page", "start page"),
    ]


def visit(console: Console, view: View) -> None:
    """Go there and wait until it is all there."""
    console.go(view.route)
    expect(console.heading()).to_have_text(view.title)
    expect(console.page.locator("main")).to_contain_text(view.has)
    expect(console.page.locator("main [aria-busy=true]")).to_have_count(0)


def look(page: Page, view: View, *, least: int) -> Seen:
    """The page that is open; targets must have ``least`` pixels either way."""
    focus, lang = page.evaluate(_FOCUS), page.evaluate("document.documentElement.lang")
    return Seen(
        view=view,
        title=page.title(),
        focus=focus,
        lang=lang,
        live_regions=page.evaluate(_LIVE),
        findings=senses.findings(page),
        small=senses.small_targets(page, least),
        overlaps=senses.overlaps(page),
        cut=senses.cut_off(page),
        sideways=senses.sideways(page),
        locked_without_reason=page.evaluate(_MUTE),
        wordless=page.evaluate(_WORDLESS),
    )


def begin_draft(console: Console) -> str:
    """A draft made as a user makes one; its id."""
    console.go("#/submit/name")
    console.page.get_by_label("Name", exact=True).fill(DRAFT)
    console.button("Continue to Training").click()
    expect(console.heading()).to_have_text("Hyperparameters")
    return console.route().partition("draft=")[2].partition("&")[0]

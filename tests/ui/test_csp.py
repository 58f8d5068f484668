"""The policy of the console: nothing inline, nothing evaluated, nothing from elsewhere; and how long a browser keeps what."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page

from tests.ui import dist
from tests.ui.conftest import Opened
from tests.whole.conftest import LiveStack

pytestmark = pytest.mark.process


def policy_of(stack: LiveStack) -> dict[str, str]:
    """The directives of the page's policy."""
    header = httpx.get(stack.url).headers["Content-Security-Policy"]
    return {name: value for name, _, value in (directive.strip().partition(" ") for directive in header.split(";"))}


def test_the_policy_is_exactly_this(stack: LiveStack) -> None:
    policy = policy_of(stack)
    bucket = policy["connect-src"].split()[-1]
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "font-src": "'self'",
        "worker-src": "'self'",
        "manifest-src": "'self'",
        "connect-src": f"'self' {bucket}",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }


def test_the_only_other_origin_that_pages_may_talk_to_is_the_bucket(opened: Opened, stack: LiveStack) -> None:
    bucket = opened("cleo").client.account.bucket()
    assert policy_of(stack)["connect-src"].split() == ["'self'", bucket.endpoint_url]


@pytest.mark.parametrize(
    ("path", "kept"),
    [("/", "no-cache"), ("/index.html", "no-cache"), ("/config.json", "no-cache"), ("/theme.js", "no-cache")],
)
def test_what_a_new_version_changes_is_asked_for_each_time(stack: LiveStack, path: str, kept: str) -> None:
    assert httpx.get(f"{stack.url}{path}").raise_for_status().headers["Cache-Control"] == kept


@pytest.mark.parametrize("kind", ["*.js", "*.css", "*.woff2"])
def test_what_has_its_hash_in_its_name_is_kept_for_a_year(stack: LiveStack, kind: str) -> None:
    name = dist.assets(kind)[0].name
    answer = httpx.get(f"{stack.url}/assets/{name}").raise_for_status()
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


def test_the_page_has_no_script_or_style_of_its_own() -> None:
    page = dist.page()
    inline = [script for script in re.findall(r"<script[^>]*>", page) if "src=" not in script]
    assert inline + re.findall(r"<style|\sstyle=|\son\w+=", page) == []


@pytest.mark.parametrize("path", dist.assets("*.js"), ids=lambda path: path.name.rpartition("-")[0])
def test_no_script_evaluates_text(path: Path) -> None:
    assert re.findall(r"(?<![\w.$])eval\s*\(|new Function\s*\(|\bset(?:Timeout|Interval)\s*\(\s*[\"'`]", path.read_text()) == []


def test_no_part_of_the_console_comes_from_elsewhere() -> None:
    text = "".join(path.read_text() for path in [dist.FOLDER / "index.html", *dist.assets("*.css")])
    assert re.findall(r"(?:https?:)?//[\w.]+", text) == []


@pytest.fixture(scope="module")
def bare(browser: Browser, stack: LiveStack) -> Iterator[Page]:
    """A document of the console's origin and policy with nothing of the console in it."""
    page = browser.new_page()
    page.goto(f"{stack.url}/config.json")
    yield page
    page.close()


def directive_against(page: Page, kind: str, text: str) -> str:
    """The directive that stops an element of this kind, smuggled into the page, from doing what it is for."""
    return str(
        page.evaluate(
            """([kind, text]) => new Promise(stopped => {
                document.addEventListener("securitypolicyviolation", event => stopped(event.effectiveDirective), {once: true});
                const node = document.createElement(kind);
                if (kind === "img") node.src = text; else node.textContent = text;
                document.body.append(node);
            })""",
            [kind, text],
        )
    )


@pytest.mark.parametrize(
    ("kind", "text", "directive"),
    [
        ("script", "window.got = 1", "script-src-elem"),
        ("style", "main { display: none }", "style-src-elem"),
        ("img", "https://example.com/x.png", "img-src"),
    ],
)
def test_what_is_smuggled_into_a_page_is_stopped(bare: Page, kind: str, text: str, directive: str) -> None:
    assert directive_against(bare, kind, text) == directive

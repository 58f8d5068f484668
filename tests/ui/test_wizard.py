"""What holds for all steps of the wizard: the specification's words, the step bar, drafts, going back and building again."""

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.ui.conftest import Opened, Users, opening
from tests.ui.console import Console
from tests.ui.labels import LABELS
from tests.ui.steps import ORDER, added, at, field, fresh, onward, parameter
from tests.whole.conftest import ROOT, LiveStack, started

pytestmark = [pytest.mark.process, pytest.mark.slow]

TYPED = {
    "Rounds": "7",
    "Minimum workers per round": "2",
    "Wait for stragglers": "1 min",
    "Heartbeat timeout": "90",
    "Training timeout": "3600",
    "Model class": "nets.Net",
    "Adapter module": "nets",
    "Training function": "learn",
}
FORM_STEPS = ORDER[:4]


@pytest.fixture(scope="module")
def console(opened_once: Opened) -> Console:
    """One tab; each test begins a wizard of its own."""
    return opened_once("walker", "#/")


def shown(console: Console, step: str) -> dict[str, str]:
    """The fields of this step of the draft, as they are after a reload."""
    draft = console.route().partition("draft=")[2]
    console.go(f"/submit/{step}?draft={draft}")
    at(console, step)
    console.page.reload()
    at(console, step)
    boxes = console.page.locator("main form input:not([type=radio])")
    return {name_of(boxes.nth(at)): boxes.nth(at).input_value() for at in range(boxes.count())}


def name_of(box: Any) -> str:
    return str(box.evaluate("node => node.getAttribute('aria-label') ?? node.labels[0].textContent.trim()"))


def filled(console: Console, name: str) -> Console:
    """Step 5 of a draft in which every field has been changed."""
    onward(fresh(console, name), "training")
    parameter(console, "batch_size").fill("64")
    added(console, "margins", "[0.5, 1.0]")
    return onward(console, "advanced", TYPED)


def configs(console: Console, name: str) -> dict[str, Any]:
    """The server's config as the bucket holds it."""
    text = console.client.workspaces.read(name, "configs/config_fed_server.json").text
    found: dict[str, Any] = json.loads(text)
    return found


def rounds(console: Console, name: str) -> int:
    return int(configs(console, name)["workflows"][0]["args"]["num_rounds"])


def test_the_steps_have_the_words_and_defaults_of_the_specification(console: Console) -> None:
    fresh(console, "Words")
    for step in FORM_STEPS:
        at(console, step)
        for each in LABELS[step].get("fields", [])[step == "name" :]:
            expect(field(console, each["label"])).to_have_value(each["default"])
        for each in LABELS[step].get("parameters", []):
            expect(parameter(console, each["name"])).to_have_value(each["default"])
        for button in LABELS[step]["buttons"]:
            expect(console.button(button)).to_be_visible()
        onward(console, ORDER[ORDER.index(step) + 1])
    at(console, "advanced")


def test_the_header_and_the_step_bar_have_the_words_of_the_specification(console: Console) -> None:
    fresh(console, "Words")
    bar = console.page.get_by_role("list", name="Steps").get_by_role("listitem")
    assert bar.all_inner_texts() == LABELS["steps"]
    for word in LABELS["header"]:
        expect(console.page.locator(".crumb").get_by_text(word)).to_be_visible()


def test_the_later_steps_have_the_words_of_the_specification(console: Console) -> None:
    console.client.workspaces.create("later-words")
    for step in ("validate", "launch"):
        console.go(f"/submit/{step}?workspace=later-words")
        at(console, step)
        expect(console.button(LABELS[step]["buttons"][0])).to_be_visible()
        for title in [card["title"] for card in LABELS[step].get("cards", [])]:
            expect(console.page.get_by_role("heading", name=title)).to_be_visible()
    for word in (LABELS["launch"]["summary"], LABELS["launch"]["total"]):
        expect(console.page.locator("main").get_by_text(word).first).to_be_visible()


def test_the_step_bar_leads_back_to_steps_that_were_reached(console: Console) -> None:
    onward(fresh(console, "Bar"), "federation")
    console.link("Training").click()
    at(console, "training")
    expect(console.page.get_by_role("list", name="Steps").locator("[aria-current=step]")).to_have_text("Training")
    console.link("Federation").click()
    at(console, "federation")
    expect(console.link("Model")).to_have_count(0)


def test_back_leads_to_the_step_before(console: Console) -> None:
    onward(fresh(console, "Back"), "federation")
    for step in ("training", "name"):
        console.link("← Back").click()
        at(console, step)


def test_a_reload_in_every_step_keeps_everything(console: Console) -> None:
    filled(console, "Reload me")
    assert shown(console, "name") == {"Name": "Reload me"}
    assert list(shown(console, "training").values()) == [
        "local_epochs", "2", "batch_size", "64", "learning_rate", "0.001", "margins", "[0.5, 1.0]",
    ]  # fmt: skip
    assert shown(console, "federation") | shown(console, "model") == TYPED
    console.go(console.route().replace("/model?", "/advanced?"))
    at(console, "advanced")
    console.page.reload()
    at(console, "advanced")


def test_a_draft_is_resumed_with_every_field_at_the_step_it_reached(console: Console) -> None:
    filled(console, "Resume me")
    console.link("Name").click()
    field(at(console, "name"), "Name").fill("Resumed")
    console.go("/")
    console.link("Resume Resumed").click()
    at(console, "advanced")
    assert shown(console, "federation") | shown(console, "model") == TYPED


def test_what_was_built_loads_from_the_bucket_when_a_draft_is_resumed(console: Console) -> None:
    onward(fresh(console, "Built before"), "model")
    console.button("Skip Advanced").click()
    at(console, "validate")
    file = console.client.workspaces.read("built-before", "configs/meta.json")
    console.client.workspaces.write(
        "built-before", "configs/meta.json", file.text.replace("{", '{"by_hand": 1,', 1), etag=file.etag
    )
    console.go("/")
    console.link("Resume Built before").click()
    console.page.get_by_role("list", name="Steps").get_by_role("link", name="Advanced").click()
    at(console, "advanced")
    console.page.get_by_role("tab", name="meta.json").click()
    expect(console.page.get_by_role("textbox", name="meta.json")).to_contain_text("by_hand")


def test_back_then_edit_then_build_again_works(console: Console) -> None:
    onward(fresh(console, "Twice"), "model")
    console.button("Skip Advanced").click()
    at(console, "validate")
    console.link("Federation").click()
    field(at(console, "federation"), "Rounds").fill("11")
    onward(console, "model")
    console.button("Skip Advanced").click()
    at(console, "validate")
    assert rounds(console, "twice") == 11


def test_a_name_changed_after_building_builds_a_folder_of_its_own(console: Console) -> None:
    onward(fresh(console, "First name"), "model")
    console.button("Skip Advanced").click()
    at(console, "validate")
    console.link("Name").click()
    field(at(console, "name"), "Name").fill("Second name")
    expect(console.page.get_by_text("jobs/first-name/ stays as it was built")).to_be_visible()
    onward(console, "model")
    console.button("Skip Advanced").click()
    at(console, "validate")
    assert rounds(console, "second-name") == rounds(console, "first-name")


def test_discard_deletes_the_draft_and_undo_brings_it_back(console: Console) -> None:
    onward(fresh(console, "Discarded"), "federation")
    console.button("Discard").click()
    expect(console.heading()).to_have_text(LABELS["start"]["title"])
    expect(console.link("Resume Discarded")).to_have_count(0)
    console.button("Undo").last.click()
    at(console, "federation")


def test_an_address_of_a_draft_that_is_gone_says_so(console: Console) -> None:
    console.go("/submit/training?draft=gone")
    expect(console.heading()).to_have_text("This draft is not here")


def test_an_address_of_a_later_step_without_a_draft_begins_at_the_name(console: Console) -> None:
    console.go("/")
    console.go("/submit/federation")
    at(console, "name")


def test_a_new_wizard_over_an_open_one_is_a_new_one(console: Console) -> None:
    onward(fresh(console, "Older"), "training")
    console.link("← Back").click()
    at(console, "name")
    console.go("/submit/name")
    expect(field(console, "Name")).to_have_value("")


def test_a_browser_that_cannot_store_drafts_says_so_and_keeps_the_page(opened: Opened) -> None:
    console = opened("no-storage", "#/submit/name")
    console.page.evaluate("() => { Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') } }")
    field(console, "Name").fill("Nowhere")
    console.button("Continue to Training").click()
    expect(console.page.get_by_text("The browser could not save the draft")).to_be_visible()
    expect(field(at(console, "name"), "Name")).to_have_value("Nowhere")


@pytest.fixture(scope="module")
def wider(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Console]:
    """The same console over an API whose contract has one field more, and nothing else changed."""
    folder = tmp_path_factory.mktemp("wider")
    shutil.copytree(ROOT / "chalicelib", folder / "chalicelib", ignore=shutil.ignore_patterns("__pycache__"))
    for entry in ROOT.iterdir():
        if entry.name not in ("chalicelib", ".tutti") and not entry.name.startswith(".git"):
            (folder / entry.name).symlink_to(entry)
    contract = folder / "chalicelib" / "contracts" / "wizard.py"
    step = '    model_config = ConfigDict(title="Federation")\n'
    one_more = (
        '    patience: int = Field(default=3, ge=1, le=9, strict=True, title="Patience", description="Rounds without gain.")\n'
    )
    contract.write_text(contract.read_text().replace(step, f"{step}\n{one_more}"))
    with started(folder / "run", folder / "data", {"PYTHONPATH": str(folder)}, root=folder) as (_, url):
        there = LiveStack(url, folder / "data")
        with opening(there, browser, Users(there)) as open_for:
            yield open_for("wider", "#/")


def test_a_field_added_to_the_contract_appears_with_its_title_default_and_bounds(wider: Console) -> None:
    onward(fresh(wider, "Wider"), "federation")
    expect(field(wider, "Patience")).to_have_value("3")
    field(wider, "Patience").fill("10")
    wider.button("Continue to Model").click()
    expect(wider.page.get_by_text("Patience is at most 9.")).to_be_visible()


def test_a_field_added_to_the_contract_is_sent_with_the_others(wider: Console) -> None:
    onward(fresh(wider, "Sent"), "model", {"Patience": "4"})
    with wider.page.expect_request("**/api/workspaces") as sent:
        wider.button("Skip Advanced").click()
    assert json.loads(sent.value.post_data or "")["federation"]["patience"] == 4
    at(wider, "validate")

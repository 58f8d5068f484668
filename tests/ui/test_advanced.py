"""Step 5, Advanced: the generated files in editors, what is wrong with them, and building the workspace."""

import json
import re

import pytest
from playwright.sync_api import Locator, expect
from tutti_fl import Client

from tests.ui.conftest import Opened
from tests.ui.console import Console

pytestmark = [pytest.mark.process, pytest.mark.slow]

CLIENT, SERVER, META = "config_fed_client.json", "config_fed_server.json", "meta.json"


def advanced(console: Console, name: str) -> Console:
    """The Advanced step of a fresh draft of this name, its editor open."""
    draft = {
        "id": name, "title": name, "step": "advanced", "savedAt": 1, "values": {"name": {"name": name}},
        "workspace": None, "etag": None, "generated": {}, "launchToken": f"token-of-{name}-0123456789",
    }  # fmt: skip
    console.page.evaluate("draft => localStorage.setItem('tutti.draft.' + draft.id, JSON.stringify(draft))", draft)
    console.go(f"#/submit/advanced?draft={name}")
    expect(editor(console)).to_contain_text("format_version")
    return console


@pytest.fixture(scope="module")
def console(opened_once: Opened) -> Console:
    """One page for all: each test has a draft and a workspace of its own. So high that an editor draws every line."""
    return opened_once("advanced", viewport={"width": 1280, "height": 2600})


def editor(console: Console) -> Locator:
    return console.page.locator(".cm-content")


def tab(console: Console, file: str) -> Locator:
    return console.page.get_by_role("tab", name=re.compile(f"^{re.escape(file)}"))


def write(console: Console, text: str) -> None:
    """Replace what the editor holds."""
    editor(console).click()
    console.page.keyboard.press("Control+a")
    console.page.keyboard.insert_text(text)


def shown(console: Console) -> str:
    return str(editor(console).evaluate("node => node.cmTile?.view?.state.doc.toString() ?? node.innerText"))


def replaced(console: Console, old: str, new: str) -> None:
    """Edit the open file by hand: the first `old` becomes `new`."""
    text = shown(console)
    assert old in text, text
    write(console, text.replace(old, new, 1))


def build(console: Console) -> None:
    console.button("Build workspace and continue").click()
    expect(console.heading()).to_have_text("Check your workspace")


def stored(client: Client, name: str, file: str) -> str:
    return client.workspaces.read(name, f"configs/{file}").text


def test_v1_tabs_lead_to_each_file_by_arrow_keys_and_mark_the_unsaved(console: Console) -> None:
    advanced(console, "v1-tabs")
    tab(console, CLIENT).focus()
    console.page.keyboard.press("ArrowRight")
    console.page.keyboard.press("ArrowRight")
    expect(tab(console, META)).to_be_focused()
    replaced(console, '"min_clients": 1', '"min_clients": 3')
    expect(tab(console, META)).to_contain_text("unsaved")


def test_v1_control_s_saves_the_file_into_a_workspace_that_was_built(console: Console) -> None:
    advanced(console, "v1-save")
    build(console)
    console.link("← Back").click()
    tab(console, META).click()
    replaced(console, '"min_clients": 1', '"min_clients": 4')
    console.page.keyboard.press("Control+s")
    expect(console.page.get_by_text("meta.json saved to your bucket.").first).to_be_visible()
    assert json.loads(stored(console.client, "v1-save", META))["min_clients"] == 4


def test_v1_an_edit_outlives_a_reload_before_it_was_built(console: Console) -> None:
    advanced(console, "v1-reload")
    tab(console, META).click()
    replaced(console, '"min_clients": 1', '"min_clients": 5')
    expect(tab(console, META)).to_contain_text("unsaved")
    console.page.reload()
    tab(console, META).click()
    expect(editor(console)).to_contain_text('"min_clients": 5')


def test_v1_a_file_changed_elsewhere_is_not_saved_over_in_silence(console: Console) -> None:
    advanced(console, "v1-clash")
    build(console)
    console.link("← Back").click()
    tab(console, META).click()
    replaced(console, '"min_clients": 1', '"min_clients": 4')
    file = console.client.workspaces.read("v1-clash", "configs/meta.json")
    console.client.workspaces.write(
        "v1-clash", "configs/meta.json", file.text.replace('"min_clients": 1', '"min_clients": 9'), etag=file.etag
    )
    console.button("Save").click()
    expect(console.page.get_by_text("meta.json was changed elsewhere")).to_be_visible()
    console.button("Save mine over it").click()
    expect(console.page.get_by_text("meta.json saved to your bucket.").first).to_be_visible()
    assert json.loads(stored(console.client, "v1-clash", META))["min_clients"] == 4


def test_v2_an_error_is_listed_with_its_line_and_the_list_jumps_there(console: Console) -> None:
    advanced(console, "v2-jump")
    tab(console, META).click()
    replaced(console, '"min_clients": 1', '"min_clients": "two"')
    findings = console.page.get_by_role("list", name="Findings in meta.json")
    findings.get_by_role("button", name=re.compile("min_clients")).click()
    expect(console.page.locator(".cm-activeLine")).to_contain_text("min_clients")


def test_v2_an_error_is_drawn_in_its_line(console: Console) -> None:
    advanced(console, "v2-inline")
    tab(console, META).click()
    replaced(console, '"min_clients": 1', '"min_clients": "two"')
    expect(console.page.locator(".cm-lintRange-error")).to_have_text('"two"')


def test_v2_an_unknown_key_warns_and_the_workspace_is_built(console: Console) -> None:
    advanced(console, "v2-unknown")
    tab(console, META).click()
    replaced(console, '"min_clients": 1', '"min_clients": 1, "colour": 1')
    expect(console.page.get_by_role("list", name="Findings in meta.json")).to_contain_text("warning")
    build(console)
    assert "colour" in json.loads(stored(console.client, "v2-unknown", META))


def test_v2_build_with_an_error_shows_it_and_builds_nothing(console: Console) -> None:
    advanced(console, "v2-broken")
    tab(console, META).click()
    replaced(console, '"min_clients": 1', '"min_clients": 1,,')
    tab(console, CLIENT).click()
    console.button("Build workspace and continue").click()
    expect(tab(console, META)).to_have_attribute("aria-selected", "true")
    expect(console.page.locator(".cm-activeLine")).to_contain_text("min_clients")
    assert "v2-broken" not in [workspace.name for workspace in console.client.workspaces.list()]


def test_v3_a_hunk_goes_back_to_the_generated_lines_and_another_stays(console: Console) -> None:
    advanced(console, "v3-hunk")
    tab(console, SERVER).click()
    write(
        console,
        shown(console).replace('"format_version": 2', '"format_version":  2').replace('"num_rounds": 5', '"num_rounds": 7'),
    )
    console.page.get_by_label("Show what differs from the generated file").check()
    reverts = editor(console).get_by_role("button", name="Revert")
    expect(reverts).to_have_count(2)
    reverts.last.click()
    expect(reverts).to_have_count(1)
    expect(editor(console)).to_contain_text('"num_rounds": 5')


def test_v3_the_whole_file_goes_back_to_what_was_generated(console: Console) -> None:
    advanced(console, "v3-file")
    before = shown(console)
    write(console, "{}")
    console.button("Back to the generated file").click()
    expect(console.button("Back to the generated file")).to_have_count(0)
    assert shown(console) == before


def test_v4_a_later_change_of_a_step_merges_with_an_edit_of_another_place(console: Console) -> None:
    advanced(console, "v4-merge")
    tab(console, SERVER).click()
    replaced(console, '"wait_time_after_min_received": 10', '"wait_time_after_min_received": 11')
    build(console)
    console.go("#/submit/federation?draft=v4-merge")
    console.page.get_by_label("Rounds", exact=True).fill("8")
    console.go("#/submit/advanced?draft=v4-merge")
    tab(console, SERVER).click()
    expect(editor(console)).to_contain_text('"num_rounds": 8')
    expect(editor(console)).to_contain_text('"wait_time_after_min_received": 11')


def test_v4_a_later_change_of_the_same_place_asks_which_one_stands(console: Console) -> None:
    advanced(console, "v4-asks")
    tab(console, SERVER).click()
    replaced(console, '"num_rounds": 5', '"num_rounds": 7')
    build(console)
    console.go("#/submit/federation?draft=v4-asks")
    console.page.get_by_label("Rounds", exact=True).fill("8")
    console.go("#/submit/advanced?draft=v4-asks")
    tab(console, SERVER).click()
    expect(editor(console)).to_contain_text('"num_rounds": 7')
    console.button("Take the steps': 8").click()
    expect(editor(console)).to_contain_text('"num_rounds": 8')


def test_v5_a_script_cannot_be_edited(console: Console) -> None:
    advanced(console, "v5-readonly")
    tab(console, "custom_persistor.py").click()
    before = shown(console)
    write(console, "x")
    assert shown(console) == before


def test_v5_a_script_downloads_under_its_name(console: Console) -> None:
    advanced(console, "v5-download")
    tab(console, "custom_persistor.py").click()
    with console.page.expect_download() as waiting:
        console.link("Download").click()
    assert waiting.value.suggested_filename == "custom_persistor.py"


def test_v6_another_number_of_classes_on_the_server_is_flagged(console: Console) -> None:
    advanced(console, "v6-classes")
    replaced(console, '"batch_size": 32', '"batch_size": 32, "num_classes": 10')
    tab(console, SERVER).click()
    replaced(console, '"num_rounds": 5', '"num_rounds": 5, "num_classes": 11')
    expect(console.page.get_by_text("num_classes is 10 for the workers and 11 for the server's model.")).to_be_visible()


def test_v7_each_file_is_shown_and_one_that_failed_is_retried_alone(console: Console) -> None:
    advanced(console, "v7-retry")
    tab(console, META).click()
    replaced(console, '"min_clients": 1', '"min_clients": 6')
    cut = lambda route: route.abort() if route.request.method == "PUT" else route.continue_()  # noqa: E731
    console.page.route("**/workspaces/v7-retry/file*", cut)
    console.button("Build workspace and continue").click()
    files = console.page.get_by_role("list", name="Building the workspace")
    expect(files.get_by_role("listitem").filter(has_text="requirements.txt")).to_contain_text("written")
    expect(files.get_by_role("listitem").filter(has_text="failed")).to_contain_text("configs/meta.json")
    console.page.unroute("**/workspaces/v7-retry/file*", cut)
    console.button("Retry meta.json").click()
    expect(console.heading()).to_have_text("Check your workspace")
    assert json.loads(stored(console.client, "v7-retry", META))["min_clients"] == 6


def test_v8_format_is_done_on_demand_and_typing_changes_nothing_else(console: Console) -> None:
    advanced(console, "v8-format")
    tab(console, META).click()
    write(console, '{"name":"v8-format",   "deploy_map":{"app":["@ALL"]},"min_clients":1}')
    assert shown(console) == '{"name":"v8-format",   "deploy_map":{"app":["@ALL"]},"min_clients":1}'
    console.button("Format").click()
    expect(editor(console).locator(".cm-line").nth(1)).to_have_text('  "name": "v8-format",')


def test_v8_formatting_a_generated_file_changes_nothing(console: Console) -> None:
    advanced(console, "v8-same")
    before = shown(console)
    console.button("Format").click()
    assert shown(console) == before

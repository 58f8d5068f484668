"""Step 2: the hyperparameters, as fields or as JSON."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.ui.conftest import Opened
from tests.ui.console import Console
from tests.ui.labels import LABELS
from tests.ui.steps import added, at, field, fresh, onward, parameter, view

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def tab(opened_once: Opened) -> Console:
    return opened_once("trainer", "#/")


@pytest.fixture
def console(tab: Console) -> Console:
    """Step 2 of a new wizard."""
    return onward(fresh(tab, "Training"), "training")


def names(console: Console) -> list[str]:
    boxes = console.page.get_by_placeholder("name")
    return [boxes.nth(at).input_value() for at in range(boxes.count())]


def kinds(console: Console) -> list[str]:
    return console.page.locator("main .type").all_inner_texts()


def as_json(console: Console) -> Locator:
    return field(console, "Hyperparameters as JSON")


def paste(console: Console, text: str) -> None:
    """The clipboard's text into the last name field."""
    console.page.get_by_placeholder("name").last.evaluate(
        """(node, text) => {
            const clipboardData = new DataTransfer();
            clipboardData.setData("text/plain", text);
            node.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true, cancelable: true}));
        }""",
        text,
    )


def test_t1_both_views_show_one_value_with_numbers_as_typed(console: Console) -> None:
    parameter(console, "learning_rate").fill("1e-3")
    added(console, "seed", "123456789012345678901")
    added(console, "momentum", "1.0")
    view(console, "JSON")
    expect(as_json(console)).to_have_value(
        '{\n  "local_epochs": 2,\n  "batch_size": 32,\n  "learning_rate": 1e-3,\n  '
        '"seed": 123456789012345678901,\n  "momentum": 1.0\n}'
    )
    view(console, "Fields")
    expect(parameter(console, "learning_rate")).to_have_value("1e-3")


def test_t1_what_json_says_is_in_the_fields_as_it_was_spelled(console: Console) -> None:
    view(console, "JSON")
    as_json(console).fill('{"lr": 1.50, "name": "7", "crops": [1.0, 2]}')
    view(console, "Fields")
    values = console.page.get_by_placeholder("value")
    assert [values.nth(at).input_value() for at in range(3)] == ["1.50", "7", "[1.0, 2]"]
    assert kinds(console) == ["number", "text", "list"]


def test_t1_json_that_is_none_is_told_with_its_place_and_stays(console: Console) -> None:
    view(console, "JSON")
    as_json(console).fill('{"lr": 0.1,\n "epochs": }')
    expect(console.page.get_by_text("line 2, column 12")).to_be_visible()
    view(console, "Fields")
    expect(as_json(console)).to_be_focused()
    console.button("Continue to Federation").click()
    expect(as_json(console)).to_have_value('{"lr": 0.1,\n "epochs": }')


def test_t1_rows_that_json_would_lose_stay_fields(console: Console) -> None:
    added(console, "batch_size", "64")
    view(console, "JSON")
    expect(console.page.get_by_text("JSON has each name once, and batch_size is there twice")).to_be_visible()
    assert names(console)[-1] == "batch_size"


def test_t2_rows_are_added_renamed_and_removed_by_keyboard(console: Console) -> None:
    console.button("Add a parameter").press("Enter")
    console.page.keyboard.type("warmup")
    console.page.keyboard.press("Tab")
    console.page.keyboard.type("3")
    field(console, "Name 1").fill("epochs")
    console.button("Remove batch_size").press("Enter")
    expect(console.page.get_by_placeholder("name")).to_have_count(3)
    assert names(console) == ["epochs", "learning_rate", "warmup"]


def test_t2_rows_are_reordered_by_keyboard_and_the_focus_goes_along(console: Console) -> None:
    console.button("Move learning_rate up").press("Enter")
    expect(console.button("Move learning_rate up")).to_be_focused()
    console.page.keyboard.press("Enter")
    expect(field(console, "Name 1")).to_have_value("learning_rate")
    field(console, "Name 1").press("Alt+ArrowDown")
    expect(field(console, "Name 2")).to_be_focused()
    assert names(console) == ["local_epochs", "learning_rate", "batch_size"]


def test_t2_a_name_that_is_there_twice_is_flagged_at_the_second(console: Console) -> None:
    added(console, "Batch_Size", "64")
    console.button("Continue to Federation").click()
    expect(field(console, "Name 4")).to_have_accessible_description("Batch_Size and batch_size are the same name in capitals.")
    expect(field(console, "Name 2")).not_to_have_attribute("aria-invalid", "true")


def test_a_removed_row_comes_back_by_undo(console: Console) -> None:
    parameter(console, "batch_size").fill("64")
    console.button("Remove batch_size").click()
    console.button("Undo").last.click()
    expect(parameter(console, "batch_size")).to_have_value("64")


@pytest.mark.parametrize(
    ("typed", "kind"),
    [("1e5", "number"), ("ada", "text"), ("[1]", "list"), ('{"a": 1}', "object"), ("true", "true/false"), ("[1,", "not JSON")],
)
def test_t3_the_type_of_a_value_is_shown(console: Console, typed: str, kind: str) -> None:
    parameter(console, "batch_size").fill(typed)
    expect(console.page.locator("main .type").nth(1)).to_have_text(kind)


@pytest.mark.parametrize(("typed", "meant"), [(".5", "0.5"), ("+1", "1"), ("1_000", "1000"), ("1,5", "1.5")])
def test_t3_what_looks_like_a_number_and_is_text_is_warned_of(console: Console, typed: str, meant: str) -> None:
    parameter(console, "batch_size").fill(typed)
    expect(console.page.get_by_text("This will be text.")).to_be_visible()
    console.button(f"Use {meant}").click()
    expect(parameter(console, "batch_size")).to_have_value(meant)


def test_t4_names_of_the_platform_are_refused_with_the_reason(console: Console) -> None:
    for name in LABELS["training"]["refused"]:
        added(console, name, "1")
    console.button("Continue to Federation").click()
    for name in LABELS["training"]["refused"]:
        expect(console.page.locator("li div").get_by_text(f"{name} is set by the platform; choose another name.")).to_be_visible()


def test_t5_the_order_is_kept_into_the_config(tab: Console) -> None:
    onward(fresh(tab, "Order kept"), "training")
    added(tab, "alpha", "1.0")
    field(tab, "Name 4").press("Alt+ArrowUp")
    onward(tab, "model")
    tab.button("Skip Advanced").click()
    at(tab, "validate")
    config: dict[str, Any] = json.loads(tab.client.workspaces.read("order-kept", "configs/config_fed_client.json").text)
    arguments = config["executors"][0]["executor"]["args"]
    own = [name for name in arguments if name in ("local_epochs", "batch_size", "learning_rate", "alpha")]
    assert own == ["local_epochs", "batch_size", "alpha", "learning_rate"]


def test_t6_one_row_and_all_rows_go_back_to_their_defaults(console: Console) -> None:
    parameter(console, "batch_size").fill("64")
    parameter(console, "local_epochs").fill("9")
    console.button("Reset").first.click()
    expect(parameter(console, "local_epochs")).to_have_value("2")
    expect(parameter(console, "batch_size")).to_have_value("64")
    console.button("Reset all").click()
    expect(parameter(console, "batch_size")).to_have_value("32")


@pytest.mark.parametrize("block", ['{"momentum": 0.9, "nesterov": true}', "momentum: 0.9\nnesterov = true"])
def test_t7_a_pasted_block_is_offered_as_rows(console: Console, block: str) -> None:
    console.button("Add a parameter").click()
    paste(console, block)
    console.button("Add them all").click()
    expect(parameter(console, "momentum")).to_have_value("0.9")
    expect(parameter(console, "nesterov")).to_have_value("true")


def test_a_value_that_begins_like_json_and_is_not_is_named(console: Console) -> None:
    parameter(console, "batch_size").fill("[1, 2,]")
    console.button("Continue to Federation").click()
    expect(parameter(console, "batch_size")).to_have_accessible_description(
        re.compile("The value of batch_size cannot be read: .*column 6")
    )

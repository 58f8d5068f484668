"""Step 4: where the model and the training function live."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import Opened
from tests.ui.console import Console
from tests.ui.labels import LABELS
from tests.ui.steps import added, at, field, fresh, onward

pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.fixture(scope="module")
def tab(opened_once: Opened) -> Console:
    return opened_once("modeller", "#/")


@pytest.fixture
def console(tab: Console) -> Console:
    """Step 4 of a new wizard."""
    return onward(fresh(tab, "Model"), "model")


def test_m1_the_path_of_the_class_is_checked_as_typed(console: Console) -> None:
    problem = console.page.get_by_text("Model class has the wrong form.")
    field(console, "Model class").fill("FLModelWrapper")
    expect(problem).to_be_visible()
    field(console, "Model class").fill("model_def.FLModelWrapper")
    expect(problem).to_have_count(0)


def test_m1_an_adapter_module_of_another_file_warns_and_offers_the_fix(console: Console) -> None:
    field(console, "Model class").fill("nets.unet.UNet")
    console.button("Use nets.unet for both").click()
    expect(field(console, "Adapter module")).to_have_value("nets.unet")


def test_m2_skip_advanced_says_what_it_builds_and_builds_that(tab: Console) -> None:
    onward(fresh(tab, "Skipped"), "model")
    expect(
        tab.page.get_by_text("Skip Advanced builds the workspace as it is: two scripts, a template, three configs")
    ).to_be_visible()
    tab.button("Skip Advanced").click()
    at(tab, "validate")
    expect(tab.page.get_by_role("list", name="Steps")).to_contain_text("Advanced skipped")
    for folder, names in LABELS["workspace"].items():
        keys = [item.key for item in tab.client.files.list(f"jobs/skipped/{folder}/")]
        assert sorted(key.rpartition("/")[2] for key in keys) == sorted(names)


def test_m2_skip_advanced_explains_what_is_missing_as_continue_does(console: Console) -> None:
    field(console, "Training function").fill("")
    console.button("Skip Advanced").click()
    expect(field(console, "Training function")).to_be_focused()
    at(console, "model")


def test_m2_a_folder_made_meanwhile_is_never_written_over_and_a_free_name_is_offered(console: Console) -> None:
    field(console, "Training function").fill("train")
    console.client.workspaces.create("model")
    console.button("Skip Advanced").click()
    console.button("Use model-2").click()
    at(console, "validate")
    assert '"fl_train_model"' in console.client.workspaces.read("model", "configs/config_fed_client.json").text


def test_m3_the_starter_has_the_current_values(console: Console, tmp_path: Path) -> None:
    console.link("Training").click()
    added(at(console, "training"), "warmup_steps", "17")
    onward(console, "model")
    with console.page.expect_download() as download:
        console.button("Download a starter model_def.py").click()
    assert download.value.suggested_filename == "model_def.py"
    text = Path(download.value.path()).read_text()
    assert "'learning_rate': 0.001, 'warmup_steps': 17}" in text

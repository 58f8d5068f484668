"""The whole way, as a person goes it: from the start page through the seven steps to a trained model that loads."""

import re
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Locator, expect

from examples.digits.demo import HERE
from examples.digits.evaluation import load_module
from examples.digits.make_shards import make_shards
from tests.ui.conftest import Opened
from tests.ui.console import Console
from tests.ui.folders import filled

pytestmark = pytest.mark.process

JOB_ENDS_MS = 150_000


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's script, and its shards cut anew."""
    root = tmp_path_factory.mktemp("digits")
    (root / "model_def.py").write_bytes((HERE / "scripts" / "model_def.py").read_bytes())
    make_shards(root)
    return root


class Journey:
    """One way through the wizard; ``reloads`` loads the page anew in every step before it is used."""

    def __init__(self, console: Console, *, reloads: bool = False) -> None:
        self.console, self.page, self.reloads = console, console.page, reloads

    def at(self, heading: str) -> None:
        expect(self.console.heading()).to_have_text(heading)
        if self.reloads:
            self.page.reload()
            expect(self.console.heading()).to_have_text(heading)

    def name(self, name: str) -> None:
        self.page.get_by_role("link", name="Start wizard").click()
        self.at("Name your training run")
        self.page.get_by_role("textbox").first.fill(name)
        self.console.button("Continue to Training").click()

    def training(self, name: str, value: str) -> None:
        self.at("Hyperparameters")
        self.page.get_by_label(f"Value of {name}").fill(value)
        self.console.button("Continue to Federation").click()

    def federation(self, rounds: int) -> None:
        self.at("Federation")
        self.page.get_by_label("Rounds").fill(str(rounds))
        self.page.get_by_label("Wait for stragglers").fill("1")
        self.console.button("Continue to Model").click()

    def model(self) -> None:
        self.at("Your model")
        self.console.button("Continue to Advanced").click()

    def advanced(self) -> None:
        self.at("Review the generated files")
        self.console.button("Build workspace and continue").click()

    def validate(self, model_def: Path, shards: list[Path]) -> None:
        self.at("Check your workspace")
        self.page.get_by_label("Upload to Scripts").set_input_files(model_def)
        self.page.get_by_label("Upload to Dataset Shards").set_input_files(shards)
        expect(self.card("shards")).to_contain_text(f"{len(shards)} file")
        expect(self.page.get_by_text(re.compile("Checked: nothing"))).to_be_visible()
        self.console.button("Continue to Launch").click()

    def card(self, folder: str) -> Locator:
        return self.page.locator(f"[data-folder={folder}]")

    def launch(self) -> str:
        """The job's id."""
        self.at("Choose your workers")
        self.page.get_by_text("This machine's processor").first.click()
        self.console.button("Launch training job").click()
        dialog = self.page.get_by_role("dialog")
        expect(dialog.get_by_role("heading", name="Job launched")).to_be_visible()
        if self.reloads:
            self.page.reload()
        job = re.search(r"job-\w{26}", dialog.inner_text())
        assert job
        dialog.get_by_role("link", name="View live status").click()
        return job[0]

    def model_of_the_job(self, to: Path) -> Path:
        """Downloaded through the page once it appears."""
        button = self.console.button("Download")
        expect(button).to_be_visible(timeout=JOB_ENDS_MS)
        with self.page.expect_download() as download:
            button.click()
        download.value.save_as(to)
        return to


def load_strictly(model: Path, model_def: Path) -> None:
    """Raises unless the file holds tensors alone, and exactly the model's."""
    load_module(model_def).FLModelWrapper().load_state_dict(torch.load(model, weights_only=True), strict=True)


def test_from_the_start_page_to_a_model_that_loads(opened: Opened, digits: Path, tmp_path: Path) -> None:
    console = opened("walker")
    way = Journey(console)
    way.name("Digits at home")
    way.training("local_epochs", "1")
    way.federation(rounds=2)
    way.model()
    way.advanced()
    way.validate(digits / "model_def.py", sorted((digits / "shards").glob("*.zip"))[:2])
    job = way.launch()
    load_strictly(way.model_of_the_job(tmp_path / "model.pt"), digits / "model_def.py")
    made = console.client.jobs.get(job)
    assert (made.workspace, made.state, made.rounds_done, made.workers) == ("digits-at-home", "FINISHED", 2, 2)


@pytest.mark.slow
@pytest.mark.unproven
def test_a_reload_in_every_step_loses_nothing(opened: Opened, digits: Path, tmp_path: Path) -> None:
    console = opened("reloader")
    way = Journey(console, reloads=True)
    way.name("Digits reloaded")
    way.training("learning_rate", "0.01")
    way.federation(rounds=1)
    way.model()
    way.advanced()
    way.validate(digits / "model_def.py", sorted((digits / "shards").glob("*.zip"))[:1])
    job = way.launch()
    load_strictly(way.model_of_the_job(tmp_path / "model.pt"), digits / "model_def.py")
    made = console.client.jobs.get(job)
    assert (made.workspace, made.rounds, made.state) == ("digits-reloaded", 1, "FINISHED")
    assert '"learning_rate": 0.01' in console.client.workspaces.read(made.workspace, "configs/config_fed_client.json").text


@pytest.mark.slow
@pytest.mark.unproven
def test_from_an_existing_folder_to_a_model_that_loads(opened: Opened, digits: Path, tmp_path: Path) -> None:
    console = opened("returner", "#/jobs")
    filled(console.client, tmp_path, "from-before", shards=1)
    console.go("/")
    way = Journey(console)
    way.page.get_by_role("link", name="Browse bucket").click()
    way.page.get_by_role("link", name="from-before").click()
    way.at("Check your workspace")
    console.button("Continue to Launch").click()
    way.launch()
    model = way.model_of_the_job(tmp_path / "model.pt")
    load_strictly(model, tmp_path / "from-before" / "scripts" / "model_def.py")

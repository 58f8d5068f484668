"""Step 6, Validate: five cards over one live listing, files on their way there, and what a check found in them."""

import io
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect
from tutti_fl.transfer import Send

from tests.ui.conftest import Opened
from tests.ui.console import Console

pytestmark = [pytest.mark.process, pytest.mark.slow]

GOOD = "class FLModelWrapper: ...\ndef fl_train_model(payload, **kwargs): ...\n"


def zipped(*names: str, size: int = 10) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(name, b"x" * size)
    return made.getvalue()


def file(name: str, content: bytes | str) -> dict[str, object]:
    """A file as a person would pick it."""
    return {"name": name, "mimeType": "", "buffer": content if isinstance(content, bytes) else content.encode()}


@pytest.fixture(scope="module")
def page_of_all(opened_once: Opened) -> Console:
    """One page for all: each test has a workspace of its own."""
    return opened_once("validate")


@pytest.fixture
def console(page_of_all: Console, request: pytest.FixtureRequest) -> Console:
    """The Validate step of a new workspace, which is named after the test."""
    name = workspace(request)
    page_of_all.client.workspaces.create(name)
    page_of_all.go(f"#/submit/validate?workspace={name}")
    expect(page_of_all.page.get_by_text(f"jobs/{name}/", exact=True)).to_be_visible()
    expect(card(page_of_all, "Dataset Shards")).to_be_visible()
    return page_of_all


def workspace(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)[5:40].replace("_", "-").strip("-")


def card(console: Console, title: str) -> Locator:
    return console.page.get_by_role("listitem").filter(has=console.page.get_by_role("heading", name=title, exact=True))


def upload(console: Console, title: str, *files: dict[str, object]) -> None:
    console.page.get_by_label(f"Upload to {title}").set_input_files(files)  # type: ignore[arg-type]


def drop(console: Console, target: Locator, *files: tuple[str, str]) -> None:
    """Let these files (name, text) fall there."""
    target.evaluate(
        """(node, files) => {
            const transfer = new DataTransfer();
            for (const [name, text] of files) transfer.items.add(new File([text], name));
            node.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
        }""",
        files,
    )


def test_l1_five_cards_say_needs_files_a_count_or_empty(console: Console) -> None:
    said = {
        title: card(console, title).locator(".tag").first
        for title in ("Scripts", "Configs", "Requirements", "Dataset Shards", "Base Model")
    }
    expect(said["Dataset Shards"]).to_have_text("Needs files")
    expect(said["Base Model"]).to_have_text("Empty")
    expect(said["Configs"]).to_have_text("3 files")
    expect(said["Requirements"]).to_have_text("1 file")


def test_l1_browse_opens_the_folder_of_its_card(console: Console, request: pytest.FixtureRequest) -> None:
    card(console, "Dataset Shards").get_by_role("link", name="Browse").click()
    expect(console.heading()).to_have_text("Files")
    assert f"prefix=jobs/{workspace(request)}/shards/" in console.route().replace("%2F", "/")


def test_l1_a_card_counts_a_file_as_soon_as_it_arrived(console: Console) -> None:
    upload(console, "Dataset Shards", file("a.zip", zipped("x.bin", "y.bin")))
    expect(card(console, "Dataset Shards").locator(".tag").first).to_have_text("1 file")


def test_l2_dropped_files_are_shown_with_their_folder_before_anything_is_sent(
    console: Console, request: pytest.FixtureRequest
) -> None:
    drop(console, console.heading(), ("model_def.py", GOOD), ("photo.png", "x"))
    dialog = console.page.get_by_role("dialog", name="Upload 1 file")
    expect(dialog.get_by_role("listitem").filter(has_text="model_def.py")).to_contain_text("into scripts/")
    expect(dialog.get_by_role("listitem").filter(has_text="photo.png")).to_contain_text("left out")
    dialog.get_by_role("button", name="Cancel").click()
    assert console.client.files.find(f"jobs/{workspace(request)}/scripts/model_def.py") is None


def test_l2_files_dropped_on_a_card_go_there(console: Console, request: pytest.FixtureRequest) -> None:
    drop(console, card(console, "Scripts"), ("model_def.py", GOOD))
    expect(card(console, "Scripts").locator(".tag").first).to_have_text("4 files")
    assert console.client.files.find(f"jobs/{workspace(request)}/scripts/model_def.py") is not None


def test_l2_what_would_be_replaced_is_told(console: Console) -> None:
    upload(console, "Requirements", file("requirements.txt", "numpy==1.26.4\n"))
    dialog = console.page.get_by_role("dialog")
    expect(dialog).to_contain_text("replaces the file of this name")
    dialog.get_by_role("button", name="Cancel").click()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.zip", b"", "empty (0 bytes)"),
        ("text.zip", b"hello", "not a zip"),
        ("rar.zip", b"Rar!\x1a\x07", "a RAR archive"),
        ("a.tar", b"x", "Only .zip files count as shards"),
        ("top.zip", zipped("top/in/a.bin", "top/in/b.bin"), "Everything lies in one folder, top/"),
        ("mac.zip", zipped("a.bin", "__MACOSX/._a.bin"), "left by the Mac's Finder"),
    ],
)
def test_l6_an_odd_shard_is_told_before_it_is_sent(page_of_all: Console, name: str, content: bytes, said: str) -> None:
    if "#/submit/validate?workspace=l6" not in page_of_all.page.url:
        if page_of_all.client.files.find("jobs/l6/configs/meta.json") is None:
            page_of_all.client.workspaces.create("l6")
        page_of_all.go("#/submit/validate?workspace=l6")
    upload(page_of_all, "Dataset Shards", file(name, content))
    dialog = page_of_all.page.get_by_role("dialog")
    expect(dialog).to_contain_text(said)
    dialog.get_by_role("button", name="Cancel").click()


def test_l1_the_card_says_how_many_workers_the_zips_mean_and_counts_nothing_else(console: Console) -> None:
    upload(
        console,
        "Dataset Shards",
        file("a.zip", zipped("x.bin", "y.bin")),
        file("b.zip", zipped("x.bin", "y.bin")),
        file("c.txt", "x"),
    )
    console.button("Upload anyway").click()
    expect(card(console, "Dataset Shards")).to_contain_text("2 zips: a job takes 2 workers")


def test_l7_shards_of_very_unequal_size_are_warned_about(console: Console) -> None:
    upload(
        console, "Dataset Shards", file("a.zip", zipped("x.bin", "y.bin")), file("b.zip", zipped("x.bin", "y.bin", size=90_000))
    )
    expect(card(console, "Dataset Shards")).to_contain_text(re.compile("The largest zip is .* times the smallest"))


def test_l8_a_missing_model_def_is_red_and_blocks_nothing(console: Console) -> None:
    upload(console, "Dataset Shards", file("a.zip", zipped("x.bin", "y.bin")))
    expect(card(console, "Scripts")).to_contain_text("model_def.py", timeout=30_000)
    expect(card(console, "Scripts").locator(".tag.bad").first).to_be_visible()
    expect(console.button("Continue to Launch")).to_have_attribute("aria-disabled", "false")


def test_l8_two_checkpoints_are_red(console: Console) -> None:
    upload(console, "Base Model", file("a.pt", "x"), file("b.pt", "x"))
    expect(card(console, "Base Model").locator(".tag.bad").first).to_be_visible()


def test_l9_continue_is_locked_and_says_what_is_empty(console: Console) -> None:
    console.button("Continue to Launch").press("Enter")
    expect(console.page.locator("#missing")).to_have_text("Still empty: Dataset Shards.")
    expect(console.heading()).to_have_text("Check your workspace")


def test_l10_a_syntax_error_is_on_its_card_with_file_and_line(console: Console) -> None:
    upload(console, "Scripts", file("model_def.py", "class FLModelWrapper: ...\ndef broken(:\n"))
    expect(card(console, "Scripts")).to_contain_text("scripts/model_def.py, line 2")


def test_l11_a_line_of_the_requirements_is_noted_by_its_number(console: Console) -> None:
    upload(console, "Requirements", file("requirements.txt", "numpy==1.26.4\n???\n"))
    console.button("Upload anyway").click()
    expect(card(console, "Requirements")).to_contain_text("requirements/requirements.txt, line 2")


def test_a_checkpoint_of_another_folder_is_picked_and_dropped_again(console: Console, tmp_path: Path) -> None:
    base = tmp_path / "base.pt"
    base.write_bytes(b"weights")
    console.client.upload([Send(base, "jobs/older/model_out/base.pt")])
    console.button("From another folder").click()
    dialog = console.page.get_by_role("dialog", name="Start from a checkpoint")
    dialog.get_by_role("button", name="older/").click()
    dialog.get_by_role("button", name="model_out/").click()
    dialog.get_by_role("button", name="Start from this").click()
    expect(card(console, "Base Model")).to_contain_text("Starts from jobs/older/model_out/base.pt.")
    console.button("Use model/ again").click()
    expect(card(console, "Base Model")).not_to_contain_text("Starts from")

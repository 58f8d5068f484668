"""The upload tray: files on their way into the bucket, over pauses, reloads and lost connections."""

import hashlib
import re
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.ui.conftest import Opened
from tests.ui.console import Console

pytestmark = [pytest.mark.process, pytest.mark.slow]

MIB = 2**20
ARRIVES_MS = 60_000


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 MiB: three parts, no two alike."""
    return grown(tmp_path_factory.mktemp("big") / "big.bin", 24)


def grown(path: Path, mib: int) -> Path:
    with path.open("wb") as out:
        for number in range(mib):
            out.write(hashlib.sha256(str(number).encode()).digest() * (MIB // 32))
    return path


@pytest.fixture
def console(opened: Opened, request: pytest.FixtureRequest) -> Console:
    """A fresh profile at a folder of its own."""
    return opened("uploads", f"#/files?prefix={folder(request)}")


def folder(request: pytest.FixtureRequest) -> str:
    return f"{request.node.name[5:30]}/"


@contextmanager
def cut(console: Console, part: int) -> Iterator[None]:
    """The connection breaks whenever this part is sent, so that the upload stays on its way."""
    pattern = re.compile(rf"[?&]partNumber={part}(&|$)")
    console.page.route(pattern, lambda route: route.abort())
    yield
    console.page.unroute(pattern)


def tray(console: Console) -> Locator:
    return console.page.get_by_role("region", name="Uploads")


def send(console: Console, *paths: Path) -> None:
    console.page.locator("input[type=file]").first.set_input_files(list(paths))
    expect(tray(console)).to_be_visible()


def wait_for_parts(console: Console, name: str, digits: int = 8) -> None:
    """Until a number of bytes of so many digits is in the bucket."""
    bar = tray(console).get_by_role("progressbar", name=re.compile(re.escape(name)))
    expect(bar).to_have_attribute("value", re.compile(rf"^[1-9]\d{{{digits - 1}}}$"), timeout=ARRIVES_MS)


def hash_in_bucket(console: Console, key: str) -> str:
    with urllib.request.urlopen(console.client.files.sign(key).url) as answer:
        return hashlib.file_digest(answer, "sha256").hexdigest()


def hash_of(path: Path) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def test_l3_the_tray_tells_speed_and_time_left_on_every_page(console: Console, big: Path) -> None:
    with cut(console, 3):
        send(console, big)
        expect(tray(console)).to_contain_text(re.compile(r"MB/s, .+ left"))
        console.go("#/jobs")
        expect(console.heading()).to_have_text("Jobs")
        expect(tray(console)).to_contain_text("big.bin")


def test_l3_a_paused_file_lets_another_pass_and_arrives_whole(
    console: Console, big: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    small = tmp_path / "small.txt"
    small.write_text("first")
    with cut(console, 3):
        send(console, big)
        wait_for_parts(console, "big.bin")
        console.button("Pause big.bin").click()
    console.page.locator("input[type=file]").first.set_input_files([small])
    expect(console.button("Dismiss small.txt")).to_be_visible()
    console.button("Resume big.bin").click()
    expect(console.button("Dismiss big.bin")).to_be_visible(timeout=ARRIVES_MS)
    assert hash_in_bucket(console, f"{folder(request)}big.bin") == hash_of(big)


def test_l3_a_cancelled_file_leaves_the_tray_and_no_object(console: Console, big: Path, request: pytest.FixtureRequest) -> None:
    with cut(console, 3):
        send(console, big)
        wait_for_parts(console, "big.bin")
        console.button("Cancel big.bin").click()
        expect(tray(console)).to_have_count(0)
    assert console.client.files.find(f"{folder(request)}big.bin") is None


def test_l3_an_upload_outlives_a_lost_connection(console: Console, big: Path, request: pytest.FixtureRequest) -> None:
    with cut(console, 3):
        send(console, big)
        wait_for_parts(console, "big.bin")
        console.page.context.set_offline(True)
        expect(tray(console)).to_contain_text("offline; goes on by itself")
    console.page.context.set_offline(False)
    expect(console.button("Dismiss big.bin")).to_be_visible(timeout=ARRIVES_MS)
    assert hash_in_bucket(console, f"{folder(request)}big.bin") == hash_of(big)


def test_l4_another_file_is_refused_with_what_differs(console: Console, big: Path, tmp_path: Path) -> None:
    with cut(console, 3):
        send(console, big)
        wait_for_parts(console, "big.bin")
        console.page.reload()
        console.page.get_by_label("Pick the file to resume big.bin").set_input_files([grown(tmp_path / "big.bin", 1)])
        expect(tray(console).get_by_role("alert")).to_contain_text("a file of 25,165,824 bytes; this one has 1,048,576")


def test_l4_another_tab_does_not_take_what_this_one_sends(console: Console, big: Path) -> None:
    with cut(console, 3):
        send(console, big)
        wait_for_parts(console, "big.bin")
        other = console.page.context.new_page()
        other.goto(f"{console.url}/#/jobs")
        expect(other.get_by_role("heading", level=1)).to_have_text("Jobs")
        expect(other.get_by_role("region", name="Uploads")).to_have_count(0)
        other.close()


@pytest.mark.slow
@pytest.mark.unproven
def test_l4_256_mib_go_on_after_a_reload_and_arrive_whole(
    console: Console, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    large = grown(tmp_path / "large.bin", 256)
    with cut(console, 20):
        send(console, large)
        wait_for_parts(console, "large.bin", digits=9)
        console.page.reload()
        expect(console.page.get_by_label("Pick the file to resume large.bin")).to_be_attached()
    console.page.get_by_label("Pick the file to resume large.bin").set_input_files([large])
    expect(console.button("Dismiss large.bin")).to_be_visible(timeout=ARRIVES_MS)
    assert hash_in_bucket(console, f"{folder(request)}large.bin") == hash_of(large)

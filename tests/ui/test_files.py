"""The Files page over a real bucket, filled by another S3 tool."""

import io
import shlex
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect
from tutti_fl.cli import run_command
from tutti_fl.terminal import Terminal

from tests.ui.bucket import OpenBucket, open_bucket
from tests.ui.conftest import Opened, Users
from tests.ui.console import Console
from tests.ui.folders import BLOCKED, launched
from tests.whole.conftest import LiveStack

pytestmark = [pytest.mark.process, pytest.mark.slow]
USER = "fay"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cf00000"
    "3010100c9fe92ef0000000049454e44ae426082"
)


@pytest.fixture(scope="module")
def bucket(users: Users) -> Iterator[OpenBucket]:
    made = open_bucket(users.client(USER, bucket=True))
    yield made
    made.s3.close()


@pytest.fixture(scope="module")
def files(bucket: OpenBucket, opened_once: Opened) -> Console:
    """The page, opened once; each test works in a folder of its own."""
    assert bucket.name
    return opened_once(USER, "#/files")


def keys(bucket: OpenBucket, prefix: str) -> list[str]:
    """What the bucket holds there, without the prefix."""
    page = bucket.s3.list_objects_v2(Bucket=bucket.name, Prefix=prefix)
    return [item["Key"].removeprefix(prefix) for item in page.get("Contents", [])]


def enter(files: Console, bucket: OpenBucket, prefix: str, *names: str) -> None:
    """Fill a folder and open it."""
    for name in names:
        bucket.put(prefix + name, name.encode())
    files.go(f"#/files?prefix={prefix}")
    expect(files.page.locator("caption")).to_have_text(f"What is in {prefix}")


def rows(files: Console) -> Locator:
    return files.page.locator("[data-row]")


def focused(files: Console) -> Locator:
    return files.page.locator("[data-row]:focus")


def test_b1_the_breadcrumb_leads_to_each_folder_above(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "crumbs/inner/", "a.txt")
    files.page.get_by_role("navigation", name="Folder").get_by_role("link", name="crumbs").click()
    expect(rows(files)).to_have_text(["inner/"])


def test_b1_folders_come_first_then_files_with_size_and_time(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "order/", "a.txt", "z/b.txt")
    expect(rows(files)).to_have_text(["z/", "a.txt"])
    expect(files.page.get_by_role("row").nth(2)).to_contain_text("5 B")
    expect(files.page.get_by_role("row").nth(2)).to_contain_text("just now")


def test_b1_arrows_home_end_and_letters_move_in_the_list(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "walk/", "a.txt", "b.txt", "c.txt")
    rows(files).first.focus()
    for key, name in (("ArrowDown", "b.txt"), ("End", "c.txt"), ("Home", "a.txt"), ("c", "c.txt"), ("ArrowUp", "b.txt")):
        files.page.keyboard.press(key)
        expect(focused(files)).to_have_text(name)


def test_b1_tab_leaves_the_list_after_one_row(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "tab/", "a.txt", "b.txt", "c.txt")
    expect(files.page.locator("tbody [tabindex='0']")).to_have_count(3)


def test_b1_enter_opens_a_folder_and_backspace_comes_back_to_it(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "deep/", "in/a.txt", "on/b.txt")
    rows(files).nth(1).focus()
    files.page.keyboard.press("Enter")
    expect(focused(files)).to_have_text("b.txt")
    files.page.keyboard.press("Backspace")
    expect(focused(files)).to_have_text("on/")


def test_b1_space_and_shift_with_arrows_pick(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "pick/", "a.txt", "b.txt", "c.txt")
    rows(files).first.focus()
    files.page.keyboard.press("Space")
    files.page.keyboard.press("Shift+ArrowDown")
    expect(files.button("Delete 2")).to_be_visible()


def test_b2_the_folders_of_a_job_say_what_they_are_for(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "jobs/marked/", "scripts/a.py", "shards/a.zip")
    expect(files.page.get_by_role("row", name="shards/")).to_contain_text("one zip per worker")
    expect(files.page.get_by_role("row", name="scripts/")).to_contain_text("your code")


@pytest.mark.parametrize(("wrong", "right"), [("script", "scripts"), ("shard", "shards")])
def test_b2_a_misspelled_folder_is_flagged(files: Console, bucket: OpenBucket, wrong: str, right: str) -> None:
    enter(files, bucket, f"jobs/wrong-{wrong}/", f"{wrong}/a.py")
    expect(files.page.get_by_role("row", name=f"{wrong}/")).to_contain_text(f"did you mean {right}/?")


def test_b3_an_uploaded_file_is_in_the_bucket_and_in_the_list(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "up/", "a.txt")
    files.page.get_by_label("Upload into up/").set_input_files({"name": "b.txt", "mimeType": "text/plain", "buffer": b"two"})
    expect(rows(files)).to_have_text(["a.txt", "b.txt"])
    assert keys(bucket, "up/") == ["a.txt", "b.txt"]


def test_b3_replacing_a_file_is_asked_about(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "twice/", "a.txt")
    files.page.get_by_label("Upload into twice/").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"two"})
    expect(files.page.get_by_role("dialog")).to_contain_text("a.txt is in this folder already")
    files.button("Cancel").click()


def test_b3_a_new_folder_is_there_before_it_holds_anything(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "made/", "a.txt")
    files.button("New folder").click()
    files.page.get_by_label("Name", exact=True).fill("empty one")
    files.page.keyboard.press("Enter")
    expect(rows(files)).to_have_text(["empty one/", "a.txt"])
    assert keys(bucket, "made/") == ["a.txt", "empty one/"]


def test_b3_a_file_is_renamed_by_f2(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "name/", "a.txt")
    rows(files).first.focus()
    files.page.keyboard.press("F2")
    files.page.get_by_label("Name", exact=True).fill("b.txt")
    files.page.keyboard.press("Enter")
    expect(focused(files)).to_have_text("b.txt")
    assert keys(bucket, "name/") == ["b.txt"]


def test_b3_a_name_that_is_taken_is_refused_in_the_dialog(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "taken/", "a.txt", "b.txt")
    rows(files).first.focus()
    files.page.keyboard.press("F2")
    files.page.get_by_label("Name", exact=True).fill("b.txt")
    files.page.keyboard.press("Enter")
    expect(files.page.get_by_role("dialog").get_by_role("status")).to_contain_text("taken/b.txt is there already")
    files.button("Close").click()


def test_b3_a_folder_is_renamed_with_all_that_is_in_it(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "folders/", "old/a.txt", "old/in/b.txt")
    files.page.get_by_label("Pick old").check()
    files.button("Rename").click()
    files.page.get_by_label("Name", exact=True).fill("new")
    files.page.keyboard.press("Enter")
    expect(rows(files)).to_have_text(["new/"])
    assert keys(bucket, "folders/") == ["new/a.txt", "new/in/b.txt"]


def test_b3_a_deleted_file_comes_back_by_undo(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "undo/", "a.txt", "b.txt")
    rows(files).first.focus()
    files.page.keyboard.press("Delete")
    expect(rows(files)).to_have_text(["b.txt"])
    files.page.get_by_role("listitem").filter(has_text="Deleted a.txt").get_by_role("button", name="Undo").click()
    expect(rows(files)).to_have_text(["a.txt", "b.txt"])
    assert bucket.s3.get_object(Bucket=bucket.name, Key="undo/a.txt")["Body"].read() == b"a.txt"


def test_b3_deleting_a_folder_asks_with_count_and_bytes(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "whole/", "in/a.txt", "in/deeper/b.txt", "other.txt")
    files.page.get_by_label("Pick in", exact=True).check()
    files.button("Delete 1").click()
    expect(files.page.get_by_role("dialog")).to_contain_text("2 files, 23 B.")
    files.button("Delete 2 files").click()
    expect(rows(files)).to_have_text(["other.txt"])
    assert keys(bucket, "whole/") == ["other.txt"]


def test_b3_without_versions_a_deletion_is_asked_about(opened: Opened, users: Users) -> None:
    bucket = open_bucket(users.client("fritz", bucket=True))
    bucket.s3.put_bucket_versioning(Bucket=bucket.name, VersioningConfiguration={"Status": "Suspended"})
    files = opened("fritz", "#/files")
    enter(files, bucket, "final/", "a.txt")
    rows(files).first.focus()
    files.page.keyboard.press("Delete")
    expect(files.page.get_by_role("dialog")).to_contain_text("1 file, 5 B. This bucket keeps no versions: it cannot be undone.")


def look(files: Console, name: str) -> Locator:
    files.button(name).click()
    return files.page.get_by_role("dialog")


@pytest.mark.parametrize(
    ("name", "data", "shown"),
    [
        ("a.txt", b"plain words", "plain words"),
        ("c.json", b'{"a":1.50,"b":[1]}', '"a": 1.5'),
        ("d.csv", b'x,y\n"1,5",2\n', "1,5"),
    ],
)
def test_b4_text_json_and_tables_are_shown(files: Console, bucket: OpenBucket, name: str, data: bytes, shown: str) -> None:
    bucket.put(f"look-{name}/{name}", data)
    files.go(f"#/files?prefix=look-{name}/")
    expect(look(files, name)).to_contain_text(shown)
    files.button("Close").click()


def test_b4_markup_in_a_file_is_text(files: Console, bucket: OpenBucket) -> None:
    bucket.put("markup/a.md", b"<img src=x onerror=alert(1)>")
    files.go("#/files?prefix=markup/")
    expect(look(files, "a.md")).to_contain_text("<img src=x onerror=alert(1)>")
    files.button("Close").click()


def test_b4_a_picture_is_shown(files: Console, bucket: OpenBucket) -> None:
    bucket.put("picture/a.png", PIXEL)
    files.go("#/files?prefix=picture/")
    expect(look(files, "a.png").get_by_role("img", name="a.png")).to_have_js_property("naturalWidth", 1)
    files.button("Close").click()


def test_b4_a_zip_is_listed_by_its_last_bytes_alone(files: Console, bucket: OpenBucket) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("images/large.bin", bytes(3_000_000))
        archive.writestr("labels/a.txt", "one")
    bucket.put("zips/shard_0.zip", packed.getvalue())
    files.go("#/files?prefix=zips/")
    ranges: list[str] = []
    files.page.on("request", lambda request: ranges.append(request.headers.get("range", "")))
    expect(look(files, "shard_0.zip")).to_contain_text("labels/a.txt")
    asked = [text.removeprefix("bytes=").split("-") for text in ranges if text]
    assert [int(last) - int(first) + 1 for first, last in asked] == [65_557]
    files.button("Close").click()


def test_b5_a_file_is_downloaded_under_its_name(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "load/", "a b.txt")
    with files.page.expect_download() as started:
        files.button("Download a b.txt").click()
    assert started.value.suggested_filename == "a b.txt"
    assert Path(started.value.path()).read_bytes() == b"a b.txt"


def test_b5_the_lines_for_a_folder_fetch_it(
    files: Console, bucket: OpenBucket, stack: LiveStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(files, bucket, "jobs/it's mine/", "shards/a b.zip", "configs/meta.json")
    files.button("Download folder").click()
    login, fetch = files.page.locator("[data-lines=tutti]").inner_text().splitlines()
    files.button("Close").click()
    assert login == f"tutti login {stack.url}"
    monkeypatch.chdir(tmp_path)
    environ = {"TUTTI_URL": stack.url, "TUTTI_TOKEN": stack.token(USER)}
    assert run_command(shlex.split(fetch)[1:], Terminal(io.StringIO(), io.StringIO(), io.StringIO(), environ)) == 0
    assert (tmp_path / "it's mine/shards/a b.zip").read_bytes() == b"shards/a b.zip"


def test_b5_the_copied_lines_hold_no_secret(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "plain/", "a.txt")
    files.button("Download folder").click()
    aws = files.page.locator("[data-lines=aws]").inner_text()
    files.button("Close").click()
    assert shlex.split(aws)[:4] == ["aws", "s3", "cp", "--recursive"]
    assert shlex.split(aws)[-2:] == [f"s3://{bucket.name}/plain/", "plain"]
    assert "key" not in aws.lower()


def test_b6_pages_of_a_long_folder_and_a_search_by_prefix(files: Console, bucket: OpenBucket) -> None:
    enter(files, bucket, "long/", *(f"n{number:03}.txt" for number in range(260)))
    files.link("Next page").click()
    expect(rows(files)).to_have_text([f"n{number}.txt" for number in range(250, 260)])
    files.link("Previous page" if files.link("Previous page").count() else "First page").click()
    expect(rows(files)).to_have_count(250)
    files.page.get_by_label("Search in this folder").fill("n25")
    expect(rows(files)).to_have_text([f"n{number}.txt" for number in range(250, 260)])


@pytest.mark.slow
@pytest.mark.unproven
def test_b6_ten_thousand_keys_are_found_by_prefix_and_page(files: Console, bucket: OpenBucket) -> None:
    with ThreadPoolExecutor(12) as lanes:
        list(lanes.map(lambda number: bucket.put(f"wide/k{number:05}.bin", b"1"), range(10_000)))
    files.go("#/files?prefix=wide/")
    expect(rows(files).first).to_have_text("k00000.bin")
    for _ in range(3):
        first = rows(files).first.inner_text()
        files.link("Next page").click()
        expect(rows(files).first).not_to_have_text(first)
    expect(rows(files).first).to_have_text("k00750.bin")
    files.page.get_by_label("Search in this folder").fill("k0999")
    expect(rows(files)).to_have_text([f"k0999{number}.bin" for number in range(10)])


def test_b7_a_running_job_guards_its_folders(opened: Opened, users: Users, tmp_path: Path) -> None:
    job = launched(users.client("greta", bucket=True), tmp_path, "guarded", model_def=BLOCKED).id
    files = opened("greta", "#/files?prefix=jobs/guarded/shards/")
    expect(files.page.locator(".guard")).to_contain_text(f"{job} is under way")
    rows(files).first.focus()
    files.page.keyboard.press("Delete")
    expect(files.page.get_by_role("region", name="Notes")).to_contain_text(f"{job} is using")
    expect(rows(files)).not_to_have_count(0)

"""Profile and bucket: making it, trying it, what it holds, and the keys to it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.ui.bucket import open_bucket
from tests.ui.conftest import Opened, Users
from tests.ui.console import Console
from tests.whole.conftest import LiveStack

pytestmark = [pytest.mark.process, pytest.mark.slow]

BYTES = 1_400_000


@pytest.fixture(scope="module")
def profile(opened_once: Opened) -> Console:
    """The page of a user whose bucket holds two workspaces and an upload that nobody completed."""
    console = opened_once("profile", "#/jobs", permissions=["clipboard-read", "clipboard-write"])
    bucket = open_bucket(console.client)
    bucket.put("jobs/digits/model_out/GLOBAL_MODEL.pt", b"x" * BYTES)
    bucket.put("jobs/small/scripts/model_def.py")
    bucket.half("jobs/digits/shards/half.zip")
    console.go("#/profile")
    expect(section(console, "Storage bucket")).to_be_visible()
    return console


def section(console: Console, title: str) -> Locator:
    """A part of the page by its heading."""
    return console.page.get_by_role("region", name=title)


def test_p1_making_the_bucket_shows_its_region_and_each_step(opened: Opened) -> None:
    console = opened("profile-new", "#/profile", bucket=False)
    expect(section(console, "Storage bucket")).to_contain_text("us-east-1")
    slow = {"offline": False, "latency": 250, "downloadThroughput": -1, "uploadThroughput": -1}
    console.page.context.new_cdp_session(console.page).send("Network.emulateNetworkConditions", slow)
    console.button("Create my bucket").click()
    expect(console.page.get_by_text("Making the bucket in us-east-1")).to_be_visible()
    expect(console.page.get_by_text("Trying an upload of one byte from this page")).to_be_visible()
    expect(console.button("Test uploads from this page")).to_be_visible()
    assert console.client.account.bucket().name in section(console, "Storage bucket").inner_text()


def test_p2_the_test_sends_one_byte_and_leaves_nothing(profile: Console) -> None:
    profile.button("Test uploads from this page").click()
    expect(profile.page.get_by_text("Uploads work")).to_be_visible()
    bucket = open_bucket(profile.client)
    held = bucket.s3.list_multipart_uploads(Bucket=bucket.name).get("Uploads", [])
    assert [upload["Key"] for upload in held if "upload-test" in upload["Key"]] == []


@pytest.mark.parametrize("rule", ["AllowedMethods: PUT", "AllowedOrigins: {url}"])
def test_p2_the_test_names_the_rule_that_is_missing_and_writes_it_again(
    stack: LiveStack, browser: Browser, users: Users, rule: str
) -> None:
    client = users.client("profile-cors", bucket=True)
    methods, origin = (["GET"], stack.url) if "Methods" in rule else (["GET", "PUT"], "http://elsewhere.example")
    open_bucket(client).allow(*methods, origin=origin)
    with browser.new_context() as context:  # the browser itself logs what it keeps from a page
        console = Console(context.new_page(), stack.url, client)
        console.sign_in(users.code("profile-cors"), "#/profile")
        console.button("Test uploads from this page").click()
        expect(section(console, "Storage bucket").locator("code").last).to_have_text(rule.format(url=stack.url))
        console.button("Write the rules again").click()
        expect(console.page.get_by_text("Uploads work")).to_be_visible()


def test_p3_a_key_is_shown_once(profile: Console) -> None:
    profile.page.get_by_label("What the key is for").fill("nightly run")
    profile.button("Make a key").click()
    shown = profile.page.get_by_role("dialog", name="Your new key")
    secret = shown.locator("code").first.inner_text()
    assert secret.startswith("tutti_")
    profile.button("I have it").click()
    expect(section(profile, "API keys").get_by_text("nightly run")).to_be_visible()
    assert secret not in profile.page.content()


def test_p3_a_new_key_is_not_lost_by_a_press_beside_it(profile: Console) -> None:
    profile.button("Make a key").click()
    shown = profile.page.get_by_role("dialog", name="Your new key")
    profile.page.mouse.click(5, 5)
    expect(shown).to_be_visible()
    profile.button("I have it").click()


def test_p3_keys_for_other_tools_are_made_when_the_loss_of_the_old_ones_is_known(profile: Console) -> None:
    profile.button("Keys for other S3 tools").click()
    expect(profile.page.get_by_text("Pairs made earlier may stop working")).to_be_visible()
    profile.button("Make new keys").click()
    expect(profile.page.get_by_text("AWS_SECRET_ACCESS_KEY=")).to_be_visible()
    profile.button("I have them").click()


def test_a11_the_copied_command_makes_a_key_as_it_is(profile: Console, stack: LiveStack, tmp_path: Path) -> None:
    profile.page.get_by_label("What the key is for").fill("Ada's key")
    profile.button("Copy as CLI").click()
    expect(profile.page.get_by_text("Command copied").first).to_be_visible()
    command = profile.page.evaluate("navigator.clipboard.readText()")
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TUTTI_URL": stack.url,
        "TUTTI_TOKEN": stack.token("profile"),
    }
    subprocess.run(["/bin/sh", "-c", command], env=environment, check=True, capture_output=True)
    assert "Ada's key" in [key.label for key in profile.client.account.api_keys()]


def test_a12_revoking_names_the_key_and_the_loss_and_returns_the_focus(profile: Console) -> None:
    key = profile.client.account.make_key("old laptop")
    profile.page.reload()
    revoke = profile.button("Revoke the key old laptop")
    revoke.click()
    expect(profile.page.get_by_role("dialog")).to_contain_text("Whatever uses old laptop is signed out at once.")
    profile.button("Keep it").click()
    expect(revoke).to_be_focused()
    revoke.click()
    profile.button("Revoke the key").click()
    expect(revoke).to_have_count(0)
    expect(profile.page.get_by_role("heading", name="API keys")).to_be_focused()
    assert key.id not in [kept.id for kept in profile.client.account.api_keys()]


def test_a14_a_user_without_keys_is_told_what_they_are_for(opened: Opened) -> None:
    console = opened("profile-empty", "#/profile")
    expect(section(console, "API keys")).to_contain_text("No keys yet. Make one to use tutti or the API from a script.")
    expect(section(console, "What it holds").get_by_role("link", name="Start the wizard")).to_be_visible()


def test_p4_use_is_shown_by_workspace_with_the_largest_first(profile: Console) -> None:
    rows = section(profile, "What it holds").get_by_role("listitem")
    expect(rows.nth(0)).to_contain_text("digits 1 file: model_out 1.4 MB")
    expect(rows.nth(1)).to_contain_text("small 1 file: scripts 1 B")


def test_p4_half_uploads_are_listed_and_deleted(profile: Console) -> None:
    profile.button("Delete the unfinished upload of jobs/digits/shards/half.zip").click()
    expect(profile.page.get_by_role("dialog")).to_contain_text("none of these can be resumed")
    profile.button("Delete 1 upload").click()
    expect(section(profile, "What it holds").get_by_text("None.")).to_be_visible()
    bucket = open_bucket(profile.client)
    assert bucket.s3.list_multipart_uploads(Bucket=bucket.name).get("Uploads", []) == []

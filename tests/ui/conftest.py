"""A real browser before a real stack: every page test fails on a script error, a console error or a breach of the CSP."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, expect, sync_playwright
from tutti_fl import Client

from tests.ui.console import Console
from tests.whole.conftest import ROOT, LiveStack, started

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS = 20_000


DEVICES = ("GPU-a0, NVIDIA RTX A5000, 24564", "GPU-a1, NVIDIA RTX A5000, 24564", "GPU-h0, NVIDIA H100 SXM, 81559")


def devices(folder: Path) -> dict[str, str]:
    """The environment of a machine whose driver lists these GPUs, so that there is more than one offer to choose from."""
    tool = folder / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    lines = "\n".join(DEVICES)
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{lines}\nEND\n")
    tool.chmod(0o755)
    return {"PATH": f"{tool.parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveStack]:
    """A stack with data and ports of its own, which serves the built console."""
    assert (ROOT / "static_site/dist/index.html").is_file(), "the console is not built: run 'make console'"
    folder = tmp_path_factory.mktemp("ui")
    with started(folder, folder / "data", devices(folder)) as (_, url):
        yield LiveStack(url, folder / "data")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    chromium = shutil.which("chromium")
    assert chromium, "Chromium is missing: sudo apt-get install chromium"
    expect.set_options(timeout=PATIENCE_MS)  # a machine that runs other tests too may be slow
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=[*FLAGS])
        yield launched
        launched.close()


class Users:
    """The people of a stack, each signed in once for the tests' own calls."""

    def __init__(self, stack: LiveStack) -> None:
        self._stack = stack
        self._clients: dict[tuple[str, bool], Client] = {}

    def client(self, name: str, *, bucket: bool) -> Client:
        """This user's client, with a bucket made when wanted."""
        if (name, bucket) not in self._clients:
            client = Client(self._stack.url, self._stack.token(name))
            self._clients[name, bucket] = client
            if bucket:
                client.account.create_bucket()
        return self._clients[name, bucket]

    def code(self, name: str) -> str:
        """A one-time sign-in code, as ``make code`` prints it."""
        command = [sys.executable, "-m", "local_stack", "code", "--data", str(self._stack.data), "--name", name]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    def close(self) -> None:
        """Close every connection."""
        for client in self._clients.values():
            client.close()


@pytest.fixture(scope="session")
def users(stack: LiveStack) -> Iterator[Users]:
    """The people of the stack."""
    made = Users(stack)
    yield made
    made.close()


class Faults:
    """What a browser reported against the pages of one context."""

    def __init__(self, context: BrowserContext) -> None:
        self.seen: list[str] = []
        context.on("console", self._console)
        context.on("weberror", lambda error: self.seen.append(f"script error: {error.error}"))

    def _console(self, message: ConsoleMessage) -> None:
        # A refused request is logged by the browser itself, however well the page handles it; breaches of the CSP are errors too.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.seen.append(f"{message.text} ({message.location.get('url', '')})")


Opened = Callable[..., Console]


@contextmanager
def opening(stack: LiveStack, browser: Browser, users: Users) -> Iterator[Opened]:
    """What ``opened`` gives; at the end no page may have reported a fault."""
    contexts: list[tuple[BrowserContext, Faults]] = []

    def open_for(user: str, route: str = "#/", *, bucket: bool = True, **wishes: Any) -> Console:
        client = users.client(user, bucket=bucket)
        context = browser.new_context(**{"accept_downloads": True, "viewport": {"width": 1280, "height": 900}, **wishes})
        contexts.append((context, Faults(context)))
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        console = Console(page, stack.url, client)
        console.sign_in(users.code(user), route)
        return console

    yield open_for
    seen = [fault for _, faults in contexts for fault in faults.seen]
    for context, _ in contexts:
        context.close()
    assert seen == []


@pytest.fixture
def opened(stack: LiveStack, browser: Browser, users: Users) -> Iterator[Opened]:
    """Opens the console for a user, signed in by a one-time code; each call is a browser profile of its own.

    ``opened("ada", "#/jobs", bucket=False, color_scheme="dark")``: what is not named here goes to the new context.
    """
    with opening(stack, browser, users) as open_for:
        yield open_for


@pytest.fixture(scope="module")
def opened_once(stack: LiveStack, browser: Browser, users: Users) -> Iterator[Opened]:
    """The same for pages that all tests of a module look at and none of them changes."""
    with opening(stack, browser, users) as open_for:
        yield open_for

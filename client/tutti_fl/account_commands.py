"""``tutti login`` and ``tutti keys``."""

import argparse
import platform
import webbrowser

from tutti_fl.credentials import Credentials, credentials_file, find_url
from tutti_fl.outcome import ExitCode
from tutti_fl.sign_in import sign_in_with_browser, sign_in_with_code
from tutti_fl.terminal import Terminal


def login(args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Sign in and keep the token."""
    url = find_url(terminal.environ, args.url or args.url_option).rstrip("/").removesuffix("/api")
    found = Credentials(url, terminal.stdin.readline().strip()) if args.key else _sign_in(url, args.code, terminal)
    with terminal.open(url, found.token) as client:
        me = client.account.me()
    file = credentials_file(terminal.environ)
    file.save(found)
    terminal.say(f"Signed in to {url} as {me.name or me.user}; kept in {file.path}")
    return ExitCode.FINISHED


def _sign_in(url: str, code: str | None, terminal: Terminal) -> Credentials:
    with terminal.open(url, "") as client:
        place = client.account.sign_in()
    if code is not None:
        return sign_in_with_code(url, place, code)

    def open_page(page: str) -> None:
        terminal.say("Sign in on this page (it opens in your browser):", f"  {page}")
        webbrowser.open(page)

    return sign_in_with_browser(url, place, open_page)


def keys(args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """List, create, revoke."""
    with terminal.client() as client:
        if args.act == "create":
            made = client.account.make_key(args.label or f"tutti on {platform.node()}")
            terminal.warn(f"{made.id}: keep this key, it is not shown again")
            terminal.say(made.secret)
        elif args.act == "revoke":
            client.account.revoke_key(args.id)
            terminal.say(f"{args.id} is revoked")
        else:
            there = client.account.api_keys()
            if not there:
                terminal.warn("You have no API keys; 'tutti keys create' makes one.")
            for key in there:
                used = f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never"
                terminal.say(f"{key.id}  made {key.created_at:%Y-%m-%d}  used {used}  {key.label}")
    return ExitCode.FINISHED

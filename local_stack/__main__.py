"""``python -m local_stack up | down | reset | status | code``: this machine's Tutti."""

import argparse
import os
import sys
from pathlib import Path

from local_stack import commands
from local_stack.console_build import BUILT


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    made = argparse.ArgumentParser(prog="python -m local_stack", description="Tutti on one machine.")
    made.add_argument("--version", action="version", version=commands.VERSION)
    sub = made.add_subparsers(required=True, metavar="COMMAND")
    up = _command(sub, "up", commands.up, "start the stack and stay")
    up.add_argument("--port", type=int, default=0, help="of the console and the API (default: chosen once and kept)")
    up.add_argument("--ready", type=Path, help="a file that gets the address and a sign-in code once all is up")
    up.add_argument("--ephemeral", action="store_true", help="cancel what still runs when the stack is stopped")
    console = Path(os.environ.get("TUTTI_CONSOLE") or BUILT)
    up.add_argument("--console", type=Path, default=console, help="the folder of the built web console ($TUTTI_CONSOLE)")
    down = _command(sub, "down", commands.down, "stop the stack; asks before it cancels running jobs")
    down.add_argument("--yes", action="store_true", help="do not ask")
    reset = _command(sub, "reset", commands.reset, "stop the stack and delete all its data; asks")
    reset.add_argument("--yes", action="store_true", help="do not ask")
    _command(sub, "status", commands.status, "what runs, and where")
    code = _command(sub, "code", commands.code, "print a fresh one-time sign-in code")
    code.add_argument("--name", default=commands.default_name(), help="of the user (default: you)")
    return made


def _command(
    sub: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, act: commands.Act, words: str
) -> argparse.ArgumentParser:
    command = sub.add_parser(name, help=words, description=words)
    command.add_argument("--data", type=Path, default=Path(".tutti"), help="the data folder (default: .tutti)")
    command.set_defaults(act=act)
    return command


def main() -> int:
    """Run the command; the exit code."""
    arguments = parser().parse_args()
    try:
        return int(arguments.act(arguments))
    except commands.CannotDo as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

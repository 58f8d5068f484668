"""The command ``tutti``: the door. One function per command, each answers its exit code."""

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence

from tutti_fl.account_commands import keys, login
from tutti_fl.arguments import parser
from tutti_fl.errors import TuttiError
from tutti_fl.export_command import export
from tutti_fl.fetch_command import fetch
from tutti_fl.job_commands import Detached, cancel, download, follow, jobs
from tutti_fl.log_command import logs
from tutti_fl.outcome import ExitCode, error_document, exit_code_of
from tutti_fl.run_commands import Stopped, check, run
from tutti_fl.terminal import Terminal
from tutti_fl.words import error_lines

COMMANDS: Mapping[str, Callable[[argparse.Namespace, Terminal], ExitCode]] = {
    "login": login,
    "keys": keys,
    "run": run,
    "check": check,
    "jobs": jobs,
    "follow": follow,
    "logs": logs,
    "cancel": cancel,
    "download": download,
    "fetch": fetch,
    "export": export,
}


def main() -> None:
    """The door of the command. What nobody foresaw ends it with its traceback, as in Python, but without secrets."""
    terminal = Terminal(sys.stdin, sys.stdout, sys.stderr, os.environ)
    try:
        code = run_command(sys.argv[1:], terminal)
    except Exception:  # noqa: BLE001 - the door
        terminal.warn(traceback.format_exc().rstrip())
        code = ExitCode.REFUSED
    sys.exit(code)


def run_command(argv: Sequence[str], terminal: Terminal) -> int:
    """Do what was typed; the exit code. Errors are said on standard error, or in the document when ``--json`` was given."""
    try:
        args = parser().parse_args(argv)
    except SystemExit as usage:
        return usage.code if isinstance(usage.code, int) else ExitCode.USAGE
    try:
        return int(COMMANDS[args.command](args, terminal))
    except TuttiError as error:
        return _refused(error, args, terminal)
    except Detached as detached:
        job_id = str(detached)
        if args.json:
            terminal.document({"exit_code": int(ExitCode.DETACHED), "job_id": job_id})
        terminal.warn("", f"{job_id} goes on. Come back: tutti follow {job_id}. Stop it: tutti cancel {job_id}")
    except Stopped:
        terminal.warn("", "Stopped. No job was launched; what was uploaded is kept.")
    except KeyboardInterrupt:
        terminal.warn("")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        return _refused(_of_this_machine(error), args, terminal)
    return ExitCode.DETACHED


def _refused(error: TuttiError, args: argparse.Namespace, terminal: Terminal) -> int:
    code = exit_code_of(error)
    if getattr(args, "json", False):
        terminal.document(error_document(error, code))
    terminal.warn(*error_lines(error))
    return code


def _of_this_machine(error: OSError) -> TuttiError:
    """A file that is not there or not readable, a full disk."""
    what = f"{error.filename}: " if error.filename else ""
    return TuttiError("local_file", f"{what}{error.strerror or error}", "Mend that and run it again: what arrived is kept.")

"""The command ``tutti``: one function per command, each answers its exit code."""

import argparse
import json
import os
import platform
import sys
import webbrowser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TextIO

from rich.console import Console

from tutti_fl.arguments import parser, settings_of
from tutti_fl.client import Client
from tutti_fl.credentials import Credentials, credentials_file, find_credentials, find_url
from tutti_fl.errors import TuttiError
from tutti_fl.folder import read_folder
from tutti_fl.memory import state_memory
from tutti_fl.outcome import ExitCode, Outcome, error_document, exit_code_of, exit_code_of_job, plain
from tutti_fl.plain_teller import PlainTeller
from tutti_fl.rich_teller import RichTeller
from tutti_fl.run import JobRun, Teller, Wish, download_model, follow_job, job_seconds
from tutti_fl.sign_in import sign_in_with_browser, sign_in_with_code
from tutti_fl.transport import Retries
from tutti_fl.words import end_lines, error_lines, finding_line, report_line


@dataclass(frozen=True)
class Terminal:
    """Where a command reads and writes, and its environment."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    environ: Mapping[str, str]
    retries: Retries = field(default_factory=Retries)

    def say(self, *lines: str) -> None:
        """Lines for a person or a pipe."""
        for line in lines:
            print(line, file=self.stdout)

    def warn(self, *lines: str) -> None:
        """Lines about what went wrong."""
        for line in lines:
            print(line, file=self.stderr)

    def document(self, content: object) -> None:
        """The one document of ``--json``."""
        print(json.dumps(content, indent=2, allow_nan=False), file=self.stdout)

    @contextmanager
    def teller(self, *, as_json: bool) -> Iterator[Teller]:
        """Progress: a moving picture on a terminal, plain lines elsewhere; on standard error when a document is wanted."""
        stream = self.stderr if as_json else self.stdout
        if as_json or not stream.isatty() or self.environ.get("TERM") == "dumb":
            yield PlainTeller(stream)
            return
        with RichTeller(Console(file=stream, highlight=False)) as teller:
            yield teller

    def client(self) -> Client:
        """The API as the signed-in user."""
        found = find_credentials(self.environ)
        return self.open(found.url, found.token)

    def open(self, url: str, token: str) -> Client:
        """The API with this token."""
        return Client(url, token, retries=self.retries, pause=self.retries.pause)


class Detached(Exception):
    """Ctrl-C while a job was followed; the message is its id."""


def main() -> None:
    """The door of the command."""
    sys.exit(run_command(sys.argv[1:], Terminal(sys.stdin, sys.stdout, sys.stderr, os.environ)))


def run_command(argv: Sequence[str], terminal: Terminal) -> int:
    """Do what was typed; the exit code. Errors are said on standard error, or in the document when ``--json`` was given."""
    try:
        args = parser().parse_args(argv)
    except SystemExit as usage:
        return usage.code if isinstance(usage.code, int) else ExitCode.USAGE
    try:
        return int(COMMANDS[args.command](args, terminal))
    except TuttiError as error:
        code = exit_code_of(error)
        if getattr(args, "json", False):
            terminal.document(error_document(error, code))
        terminal.warn(*error_lines(error))
        return code
    except Detached as detached:
        job_id = str(detached)
        if getattr(args, "json", False):
            terminal.document({"exit_code": int(ExitCode.DETACHED), "job_id": job_id})
        terminal.warn("", f"{job_id} goes on. Come back: tutti follow {job_id}. Stop it: tutti cancel {job_id}")
        return ExitCode.DETACHED
    except KeyboardInterrupt:
        terminal.warn("", "Stopped. No job was launched; what was uploaded is kept.")
        return ExitCode.DETACHED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DETACHED


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


def run(args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """A folder to its model."""
    with terminal.client() as client, terminal.teller(as_json=args.json) as teller:
        job_run = JobRun(client, _wish(args), teller, memory=state_memory(terminal.environ))
        if not job_run.check().errors:
            job = job_run.launch()
            with _detachable(job.id):
                job_run.follow()
    return _tell(job_run.outcome, args, terminal)


def check(args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """A folder to its report."""
    with terminal.client() as client, terminal.teller(as_json=args.json) as teller:
        job_run = JobRun(client, _wish(args), teller, memory=state_memory(terminal.environ))
        job_run.check()
    return _tell(job_run.outcome, args, terminal)


def _wish(args: argparse.Namespace) -> Wish:
    try:
        settings = settings_of(args)
    except ValueError as error:
        raise TuttiError("usage", str(error)) from error
    folder = read_folder(args.folder)
    name = args.name or folder.root.resolve().name
    gpu, out = getattr(args, "gpu", None), getattr(args, "out", None)
    return Wish(folder, name, settings, gpu_type=gpu, replace=args.replace, out=out)


def jobs(args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """The newest jobs."""
    with terminal.client() as client:
        found = list(islice(client.jobs.list(workspace=args.workspace), args.limit))
    if args.json:
        terminal.document({"jobs": plain(found)})
    else:
        rows = (f"{j.id}  {j.state:<9}  {j.rounds_done}/{j.rounds}  {j.created_at:%Y-%m-%d %H:%M}  {j.workspace}" for j in found)
        terminal.say(*rows)
        if not found:
            terminal.warn("You have no jobs yet; 'tutti run FOLDER' launches one.")
    return ExitCode.FINISHED


def follow(args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """A job to its end."""
    with terminal.client() as client, terminal.teller(as_json=args.json) as teller:
        with _detachable(args.job):
            board = follow_job(client, args.job, teller)
        job = board.job or client.jobs.get(args.job)
        rounds = client.jobs.rounds(job.id)
    code = exit_code_of_job(job)
    outcome = Outcome(job.workspace, job=job, rounds=rounds, seconds=job_seconds(job, board), exit_code=code)
    return _tell(outcome, args, terminal)


def cancel(args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Ask a job to stop."""
    with terminal.client() as client:
        job = client.cancel(args.job)
    if args.json:
        terminal.document({"job_id": job.id, "state": job.state, "ending": job.ending is not None})
    else:
        terminal.say(f"{job.id} is {job.state} already" if job.ended else f"{job.id} is being stopped")
    return ExitCode.FINISHED


def download(args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """The model of a job that has one."""
    with terminal.client() as client, terminal.teller(as_json=args.json) as teller:
        path = download_model(client, client.jobs.get(args.job), args.out, teller)
    if args.json:
        terminal.document({"job_id": args.job, "model_path": str(path)})
    else:
        terminal.say(str(path))
    return ExitCode.FINISHED


@contextmanager
def _detachable(job_id: str) -> Iterator[None]:
    """Ctrl-C leaves the job alone."""
    try:
        yield
    except KeyboardInterrupt:
        raise Detached(job_id) from None


def _tell(outcome: Outcome, args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """What a run or check found, for people or for machines."""
    if args.json:
        terminal.document(outcome.document())
        return outcome.exit_code
    if outcome.report is not None and outcome.job is None:
        terminal.say(*(finding_line(finding) for finding in outcome.report.findings), report_line(outcome.report))
    if outcome.job is not None:
        terminal.say(*end_lines(outcome.job))
    if outcome.model_path is not None:
        terminal.say(f"The model is in {outcome.model_path}")
    return outcome.exit_code


COMMANDS: Mapping[str, Callable[[argparse.Namespace, Terminal], ExitCode]] = {
    "login": login,
    "keys": keys,
    "run": run,
    "check": check,
    "jobs": jobs,
    "follow": follow,
    "cancel": cancel,
    "download": download,
}

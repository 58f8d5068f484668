"""``tutti run`` and ``tutti check``."""

import argparse

from tutti_fl.arguments import settings_of
from tutti_fl.errors import TuttiError
from tutti_fl.folder import read_folder
from tutti_fl.job_commands import detachable, tell
from tutti_fl.memory import state_memory
from tutti_fl.outcome import ExitCode, Outcome
from tutti_fl.run import JobRun, Wish
from tutti_fl.terminal import Terminal
from tutti_fl.words import finding_line, report_line


class Stopped(Exception):
    """Ctrl-C before a job was launched."""


def run(args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """A folder to its model."""
    with terminal.client() as client, terminal.teller(as_json=args.json) as teller:
        job_run = JobRun(client, _wish(args), teller, memory=state_memory(terminal.environ))
        _until_launched(job_run)
        if (job := job_run.outcome.job) is not None:
            with detachable(job.id):
                job_run.follow()
    return _tell(job_run.outcome, args, terminal)


def _until_launched(job_run: JobRun) -> None:
    try:
        if not job_run.check().errors:
            job_run.launch()
    except KeyboardInterrupt:
        raise Stopped from None


def check(args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """A folder to its report."""
    with terminal.client() as client, terminal.teller(as_json=args.json) as teller:
        job_run = JobRun(client, _wish(args), teller, memory=state_memory(terminal.environ))
        try:
            job_run.check()
        except KeyboardInterrupt:
            raise Stopped from None
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


def _tell(outcome: Outcome, args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """What a run or check found, for people or for machines."""
    if outcome.report is not None and outcome.job is None and not args.json:
        terminal.say(*(finding_line(finding) for finding in outcome.report.findings), report_line(outcome.report))
    return tell(outcome, args, terminal)

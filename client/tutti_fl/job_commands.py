"""``tutti jobs``, ``follow``, ``cancel`` and ``download``."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import islice

from rich.text import Text

from tutti_fl.job_names import find_job
from tutti_fl.launches import Launches
from tutti_fl.memory import state_memory
from tutti_fl.outcome import ExitCode, Outcome, exit_code_of_job, plain
from tutti_fl.rich_teller import STATE_STYLES
from tutti_fl.run import download_model, follow_job, job_seconds
from tutti_fl.shapes.jobs import Job
from tutti_fl.terminal import Terminal
from tutti_fl.words import clock, end_lines, number

HEADS = ("JOB", "STATE", "ROUND", "LOSS", "STARTED", "TOOK", "WORKSPACE")


class Detached(Exception):
    """Ctrl-C while a job was followed; the message is its id."""


@contextmanager
def detachable(job_id: str) -> Iterator[None]:
    """Ctrl-C leaves the job alone."""
    try:
        yield
    except KeyboardInterrupt:
        raise Detached(job_id) from None


def jobs(args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """The newest jobs, or all."""
    with terminal.client() as client:
        newest = client.jobs.list(workspace=args.workspace)
        found = list(newest if args.all else islice(newest, args.limit))
        more = not args.all and next(newest, None) is not None
        now = client.transport.now()
    if args.json:
        terminal.document({"jobs": plain(found), "more": more})
        return ExitCode.FINISHED
    if found:
        _print_table([_cells(job, now) for job in found], terminal)
    else:
        where = f" in {args.workspace}" if args.workspace else ""
        terminal.warn(f"You have no jobs{where} yet; 'tutti run FOLDER' launches one.")
    if more:
        terminal.warn(f"These are the newest {args.limit}; --all shows every one.")
    return ExitCode.FINISHED


def _cells(job: Job, now: datetime) -> tuple[str, ...]:
    took = ((job.ended_at or now) - job.created_at).total_seconds()
    rounds = f"{job.rounds_done}/{job.rounds}"
    loss = number(job.loss) if job.loss is not None else "–"
    state = "ending" if job.ending and not job.ended else job.state
    return (job.id, state, rounds, loss, f"{job.created_at.astimezone():%Y-%m-%d %H:%M}", clock(max(took, 0)), job.workspace)


def _print_table(rows: list[tuple[str, ...]], terminal: Terminal) -> None:
    widths = [max(map(len, column)) for column in zip(HEADS, *rows, strict=True)]
    console = terminal.console()
    for row in (HEADS, *rows):
        line = Text("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if row is HEADS:
            line.stylize("bold")
        elif style := STATE_STYLES.get(row[1]):
            line.stylize(style, widths[0] + 2, widths[0] + 2 + len(row[1]))
        console.print(line, soft_wrap=True)


def follow(args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """A job to its end."""
    with terminal.client() as client, terminal.teller(as_json=args.json) as teller:
        job = find_job(client, args.job)
        with detachable(job.id):
            board = follow_job(client, job.id, teller)
        job = board.job or client.jobs.get(job.id)
        rounds = client.jobs.rounds(job.id)
    code = exit_code_of_job(job)
    outcome = Outcome(job.workspace, job=job, rounds=rounds, seconds=job_seconds(job, board), exit_code=code)
    return tell(outcome, args, terminal)


def cancel(args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Ask a job to stop."""
    with terminal.client() as client:
        job = client.cancel(find_job(client, args.job).id)
    if args.json:
        terminal.document({"job_id": job.id, "state": job.state, "ending": job.ending is not None})
    else:
        terminal.say(f"{job.id} is {job.state} already" if job.ended else f"{job.id} is being stopped")
    return ExitCode.FINISHED


def download(args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """The model of a job that has one."""
    with terminal.client() as client, terminal.teller(as_json=args.json) as teller:
        job = find_job(client, args.job)
        path = download_model(client, job, args.out, teller)
        Launches(state_memory(terminal.environ), client.url).forget(job.workspace)
    if args.json:
        terminal.document({"job_id": job.id, "model_path": str(path)})
    else:
        terminal.say(str(path))
    return ExitCode.FINISHED


def tell(outcome: Outcome, args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """How a job ended, for people or for machines."""
    if args.json:
        terminal.document(outcome.document())
        return outcome.exit_code
    if outcome.job is not None:
        terminal.say(*end_lines(outcome.job))
    if outcome.model_path is not None:
        terminal.say(f"The model is in {outcome.model_path}")
    return outcome.exit_code

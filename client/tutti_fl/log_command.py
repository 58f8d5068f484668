"""``tutti logs``."""

import argparse
import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from rich.text import Text

from tutti_fl.errors import TuttiError
from tutti_fl.job_names import find_job
from tutti_fl.logs import BEFORE_ALL, JobLogs, LogLine
from tutti_fl.outcome import ExitCode
from tutti_fl.shapes.jobs import Job
from tutti_fl.terminal import Terminal

SPAN = re.compile(r"(\d+)\s*([smhd])")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
LEVEL_STYLES = {"error": "red", "critical": "bold red", "warning": "yellow", "debug": "dim"}
SITE_STYLES = ("cyan", "green", "magenta", "blue", "bright_cyan", "bright_green", "bright_magenta", "bright_blue")


def logs(args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """What the processes of a job wrote."""
    with terminal.client() as client:
        job = find_job(client, args.job)
        since = since_of(args.since, client.transport.now()) if args.since else BEFORE_ALL
        if args.job != job.id:
            terminal.warn(f"logs of {job.id} ({job.workspace}, {job.state})")
        show = _json_lines(terminal) if args.json else _lines(terminal)
        with JobLogs(client, job, args.site, pause=terminal.retries.pause) as found:
            shown = _show(found.follow() if args.follow else found.lines(), since, show)
        if not shown:
            terminal.warn(_why_nothing(job, args))
    return ExitCode.FINISHED


def _show(lines: Iterator[LogLine], since: datetime, show: Callable[[LogLine], None]) -> int:
    shown = 0
    for line in lines:
        if line.at >= since:
            show(line)
            shown += 1
    return shown


def _why_nothing(job: Job, args: argparse.Namespace) -> str:
    whose = " and ".join(args.site) if args.site else job.id
    if args.since:
        return f"{whose} wrote nothing since then."
    if job.ended:
        return f"{whose} wrote no log; the job ended {job.state}."
    return f"{whose} wrote no log yet; the job is {job.state}. 'tutti logs {job.id} --follow' waits for it."


def since_of(said: str, now: datetime) -> datetime:
    """``10m`` (s, m, h, d) before now, or a date or time as ISO 8601 writes it; without a zone it is this machine's."""
    if span := SPAN.fullmatch(said.strip()):
        return now - timedelta(seconds=int(span[1]) * SECONDS[span[2]])
    try:
        return datetime.fromisoformat(said.strip()).astimezone()
    except ValueError:
        hint = "Write a span such as 30s, 10m, 2h or 1d, or a time such as 2026-05-01 or 2026-05-01T10:00."
        raise TuttiError("usage", f"--since {said!r} is no time", hint) from None


def _json_lines(terminal: Terminal) -> Callable[[LogLine], None]:
    def show(line: LogLine) -> None:
        at = None if line.at == BEFORE_ALL else line.at.isoformat(timespec="milliseconds")
        said = {"t": at, "site": line.site, "level": line.level, "text": line.text}
        print(json.dumps(said, ensure_ascii=False), file=terminal.stdout, flush=True)

    return show


def _lines(terminal: Terminal) -> Callable[[LogLine], None]:
    """Time (of this machine's zone), site, level, text; in colours on a terminal."""
    console = terminal.console()
    styles: dict[str, str] = {}

    def show(line: LogLine) -> None:
        at = "" if line.at == BEFORE_ALL else f"{line.at.astimezone():%Y-%m-%d %H:%M:%S}"
        if not terminal.is_drawn_on():
            print(f"{at:<19}  {line.site:<8}  {line.level:<8}  {line.text}", file=terminal.stdout, flush=True)
            return
        site = styles.setdefault(line.site, SITE_STYLES[len(styles) % len(SITE_STYLES)])
        level = LEVEL_STYLES.get(line.level, "")
        parts = ((f"{at[11:]:<8}  ", "dim"), (f"{line.site:<8}  ", site), (f"{line.level:<8}  ", level), (line.text, level))
        console.print(Text.assemble(*parts), soft_wrap=True)

    return show

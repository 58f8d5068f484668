"""How numbers and ends are said to a person."""

from collections.abc import Iterator

from tutti_fl.board import Board, BoardRound
from tutti_fl.errors import TuttiError
from tutti_fl.meter import Progress
from tutti_fl.shapes.jobs import Job, Reason
from tutti_fl.shapes.live import FeedItem, PhaseChanged, StateChanged, Warned
from tutti_fl.shapes.workspaces import Finding, Report

FAULTS = {
    "your_code": "your code",
    "your_data": "your data",
    "your_settings": "your settings",
    "provider": "the machine's provider",
    "platform": "the platform",
}
MOST_WORKERS = 5
"""Up to so many workers are shown number by number; above that their range."""


def number(value: float | None) -> str:
    """A metric in at most seven characters; ``–`` when it is not finite or absent."""
    if value is None:
        return "–"
    return f"{value:.4f}" if 0.001 <= abs(value) < 1000 or value == 0 else f"{value:.2e}"


def size(count: int) -> str:
    """Bytes as a person says them."""
    value = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.2f} TB"


def progress_words(progress: Progress) -> str:
    """``12.0 MB of 30.0 MB, 1 of 3 files, 6.0 MB/s, 3 s left``, or why nothing moves."""
    parts = [f"{size(progress.bytes_done)} of {size(progress.bytes)}"]
    parts += [f"{progress.files_done} of {progress.files} files"] if progress.files > 1 else []
    if progress.trouble:
        return ", ".join([*parts, f"{progress.trouble}; trying again"])
    parts += [f"{size(round(progress.speed))}/s"] if progress.speed else []
    left = progress.left_s
    return ", ".join([*parts, f"{clock(left)} left"] if left else parts)


def clock(seconds: float) -> str:
    """``7 s``, ``2:05``, ``1:02:05``."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def per_worker(row: BoardRound, metric: str) -> str:
    """Every worker's value of a metric, or the range when they are many; empty when only the server has it."""
    values = [row.sites[site].get(metric) for site in row.workers if metric in row.sites[site]]
    if len(values) <= MOST_WORKERS:
        return " ".join(number(value) for value in values)
    known = [value for value in values if value is not None]
    return f"{number(min(known))} … {number(max(known))}" if known else ""


def round_line(row: BoardRound, rounds: int) -> str:
    """One round in one line: each metric's mean, and the workers' values in brackets."""
    parts = [f"{metric} {number(row.mean(metric))} ({per_worker(row, metric)})" for metric in row.metrics]
    refused = [f"{site} not counted: {why}" for site, why in row.refused.items()]
    took = [f"in {row.seconds:.1f} s"] if row.seconds is not None else []
    return f"round {row.number + 1}/{rounds}  " + "  ".join([*parts, *took, *refused])


def news_lines(board: Board) -> Iterator[str]:
    """What the newest answer of the feed brought, one line each, rounds aside."""
    yield from filter(None, map(_news_line, board.news))


def _news_line(item: FeedItem) -> str:
    match item.change:
        case StateChanged(state=state, ending=ending, sentence=sentence):
            return f"{'ending' if ending else state}  {sentence}".rstrip()
        case PhaseChanged(site=site, phase=phase, detail=detail) if phase not in ("training", "uploading", "waiting"):
            return f"{site}: {phase}" + (f" ({detail})" if detail else "")
        case Warned(sentence=sentence, site=site):
            return f"warning: {f'{site}: ' if site else ''}{sentence}"
    return ""


def finding_line(finding: Finding) -> str:
    """One finding: how much it weighs, where, what, and what to do."""
    place = f"{finding.place}: " if finding.place else ""
    sentences = [sentence.rstrip(".") + "." for sentence in (finding.message, finding.hint) if sentence]
    return f"{finding.level:<8}{place}{' '.join(sentences)}"


def report_line(report: Report) -> str:
    """The report in one sentence."""
    errors, workers = len(report.errors), report.workers
    warnings = sum(finding.level == "warning" for finding in report.findings)
    counts = ", ".join(counted(count, what) for count, what in ((errors, "error"), (warnings, "warning")) if count)
    return f"{report.workspace}: {counts or 'no findings'}; a launch would start {counted(workers, 'worker')}"


def counted(count: int, what: str) -> str:
    """``1 error``, ``3 errors``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def end_lines(job: Job) -> list[str]:
    """How the job ended; for a bad end also who, where, the evidence and what to do."""
    done = f"{job.rounds_done} of {job.rounds} rounds"
    reason = job.reason
    if reason is None or job.state == "FINISHED":
        return [f"{job.state} after {done}"]
    lines = [f"{job.state} after {done}: {reason.sentence}"]
    if whence := _whence(reason):
        lines.append(f"  where    {whence}")
    lines += ["  evidence", *(f"    | {line}" for line in reason.evidence)] if reason.evidence else []
    return [*lines, f"  next     {reason.advice}"] if reason.advice else lines


def _whence(reason: Reason) -> str:
    place = f"{reason.file}:{reason.line}" if reason.file and reason.line else reason.file
    round_ = f"round {reason.round + 1}" if reason.round is not None else None
    return " · ".join(part for part in (FAULTS.get(reason.fault), reason.site, place, round_) if part)


def error_lines(error: TuttiError) -> list[str]:
    """A refusal: the sentence, the fields it is about, what to do, and the number to quote."""
    lines = [f"error: {error.message}", *(f"  {name}: {why}" for name, why in error.fields.items())]
    lines += [f"  {error.hint}"] if error.hint else []
    return [*lines, f"  request {error.request_id}"] if error.request_id else lines

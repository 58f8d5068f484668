"""Progress as a picture that moves: for a terminal."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tutti_fl.board import Board
from tutti_fl.meter import Progress
from tutti_fl.shapes.jobs import Job, Worker
from tutti_fl.words import clock, number, per_worker, progress_words

ROWS = 12
"""So many of the newest rounds, and so many workers, are drawn; a screen is not longer."""
STATE_STYLES = {"PENDING": "yellow", "RUNNING": "cyan", "FINISHED": "green", "FAILED": "red", "CANCELLED": "yellow"}


class RichTeller:
    """Draws steps, bars, the workers and a loss table; use it in a ``with``."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = time.monotonic()
        self._step = ""
        self._picture: RenderableType = ""
        self._live = Live(console=console, refresh_per_second=4, get_renderable=self._draw)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._keep()
        self._live.stop()

    def step(self, sentence: str) -> None:
        """What was drawn before stays above."""
        self._keep()
        self._step = sentence

    def note(self, sentence: str) -> None:
        """A line above the picture."""
        self._console.print(Text(f"  {sentence}", style="dim"))

    def uploaded(self, progress: Progress) -> None:
        """A bar."""
        self._picture = _bar(progress)

    def board(self, board: Board) -> None:
        """Job, workers, rounds."""
        if board.job is None:
            return
        parts: list[RenderableType] = [_heading(board, board.job), _workers(board)]
        self._picture = Group(*parts, _rounds(board), *_warnings(board))

    def downloaded(self, progress: Progress) -> None:
        """A bar."""
        self._picture = _bar(progress)

    def _draw(self) -> RenderableType:
        if not self._step:
            return self._picture
        took = clock(time.monotonic() - self._began)
        return Group(Text.assemble(("● ", "cyan"), (self._step, "bold"), (f"  {took}", "dim")), self._picture)

    def _keep(self) -> None:
        step, picture = self._step, self._picture
        self._step, self._picture = "", ""  # first, so that it is never on the screen twice
        if step:
            self._console.print(Text.assemble(("✓ ", "green"), step))
        if picture:
            self._console.print(picture)


def _bar(progress: Progress) -> RenderableType:
    bar = ProgressBar(total=max(progress.bytes, 1), completed=progress.bytes_done if progress.bytes else 1, width=30)
    grid = Table.grid(padding=(0, 1))
    grid.add_row("  ", bar, Text(progress_words(progress), style="yellow" if progress.trouble else "dim"))
    return grid


def _heading(board: Board, job: Job) -> RenderableType:
    state = (job.state, f"bold {STATE_STYLES.get(job.state, '')}")
    left = board.left_s()
    coming = f", about {clock(left)} left" if left else ""
    rounds = f"round {job.rounds_done} of {job.rounds}{coming}"
    return Text.assemble("  ", state, f"  {job.id}  {rounds}, {job.workers} workers on {job.gpu_type}")


def _workers(board: Board) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    workers = board.workers_in_order()
    for worker in workers[:ROWS]:
        failed = worker.failed.sentence if worker.failed else ""
        grid.add_row(
            "  ", worker.site, Text(worker.phase, style="red" if failed else ""), _step(worker), Text(failed, style="red")
        )
    if len(workers) > ROWS:
        grid.add_row("  ", f"and {len(workers) - ROWS} more")
    return grid


def _step(worker: Worker) -> RenderableType:
    if worker.step is None or not worker.of or worker.phase != "training":
        return ""
    return ProgressBar(total=worker.of, completed=worker.step, width=20)


def _rounds(board: Board) -> RenderableType:
    """A row per round, a column per metric: the mean, and every worker's value beside it."""
    metrics = board.metrics()
    if not metrics:
        return ""
    table = Table("round", *metrics, box=None, padding=(0, 2), header_style="bold")
    for numbered in sorted(board.rounds)[-ROWS:]:
        row = board.rounds[numbered]
        cells = [Text.assemble(number(row.mean(m)), (f"  {per_worker(row, m)}", "dim")) for m in metrics]
        table.add_row(str(numbered + 1), *cells)
    return table


def _warnings(board: Board) -> list[RenderableType]:
    return [Text(f"  {f'{w.site}: ' if w.site else ''}{w.sentence}", style="yellow") for w in board.warnings[-3:]]

"""Progress as plain lines: for logs, pipes and terminals without colour."""

import time
from collections import deque
from typing import TextIO

from tutti_fl.board import Board
from tutti_fl.meter import Progress
from tutti_fl.words import clock, news_lines, progress_words, round_line


class PlainTeller:
    """One line per event, each with the seconds since the start."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._began = time.monotonic()
        self._fifth, self._whole, self._trouble = 0, False, ""
        self._told: set[int] = set()
        self._recent: deque[str] = deque(maxlen=20)
        """Lines not to repeat: a worker and the platform may both tell of the same moment."""

    def step(self, sentence: str) -> None:
        """Something begins."""
        self._fifth, self._whole, self._trouble = 0, False, ""
        self._say(sentence)

    def note(self, sentence: str) -> None:
        """Something worth knowing."""
        self._say(sentence)

    def uploaded(self, progress: Progress) -> None:
        """A line for every fifth of the bytes, and when something is in the way."""
        self._move("uploaded", progress)

    def board(self, board: Board) -> None:
        """The news, and each round once its numbers are complete."""
        for line in news_lines(board):
            if line not in self._recent:
                self._say(f"  {line}")
            self._recent.append(line)
        self._tell_rounds(board)

    def downloaded(self, progress: Progress) -> None:
        """A line for every fifth of the bytes, and when something is in the way."""
        self._move("downloaded", progress)

    def _move(self, verb: str, progress: Progress) -> None:
        part = progress.bytes_done * 5 // progress.bytes if progress.bytes else 5
        whole = progress.files_done == progress.files
        news = part > self._fifth or (whole and not self._whole) or (progress.trouble and progress.trouble != self._trouble)
        if news:
            self._fifth, self._trouble = max(part, self._fifth), progress.trouble or self._trouble
            self._whole = whole
            self._say(f"  {verb} {progress_words(progress)}")

    def _tell_rounds(self, board: Board) -> None:
        """What ``fl_validate_model`` says comes after the average, so a round waits for the next one to begin, or for the end."""
        job = board.job
        if job is None:
            return
        for number, row in sorted(board.rounds.items()):
            complete = job.ended or (job.round is not None and job.round > number)
            if row.ended and complete and number not in self._told:
                self._told.add(number)
                left = board.left_s() if number + 1 == job.rounds_done else None
                self._say(f"  {round_line(row, job.rounds)}" + (f"  about {clock(left)} left" if left else ""))

    def _say(self, line: str) -> None:
        print(f"[{clock(time.monotonic() - self._began):>6}] {line}", file=self._stream, flush=True)

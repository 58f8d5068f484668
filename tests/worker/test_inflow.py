"""Pipes are emptied whatever is done with their lines."""

import os
import threading
import time

from tutti_worker.inflow import BACKLOG_BYTES, Inflow
from tutti_worker.log_lines import Lines, LogLine
from tutti_worker.logs import Budget, LogBook

from tests.worker.builders import eventually
from tests.worker.test_logs import Shelf


class Sink:
    """Takes lines only while it is open."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.lost = 0
        self.open = threading.Event()

    def take(self, lines: list[LogLine]) -> None:
        self.open.wait(20)
        self.texts += [line.text for line in lines]

    def lose(self, lines: int) -> None:
        self.lost += lines


def flooded(sink: Sink, lines: int) -> tuple[Inflow, float]:
    """An inflow into which so many lines of 100 bytes were written, and how long a write took at the longest."""
    read, write = os.pipe()
    inflow = Inflow(read, "job", Lines(), sink.take, sink.lose)
    inflow.start()
    longest = 0.0
    for number in range(0, lines, 100):
        began = time.monotonic()
        os.write(write, b"".join(b"%-99d\n" % each for each in range(number, number + 100)))
        longest = max(longest, time.monotonic() - began)
    os.close(write)
    return inflow, longest


def test_who_writes_is_not_held_up_by_lines_that_nobody_takes() -> None:
    sink = Sink()
    inflow, longest = flooded(sink, 200_000)
    sink.open.set()
    inflow.finish(5, 20)
    assert longest < 5


def test_of_a_flood_the_last_lines_are_kept_and_every_other_is_counted() -> None:
    sink = Sink()
    inflow, _ = flooded(sink, 200_000)
    sink.open.set()
    inflow.finish(5, 30)
    assert sink.texts[-1] == "199999"
    assert sink.lost > 0
    assert len(sink.texts) + sink.lost == 200_000


def test_what_waits_is_bounded() -> None:
    sink = Sink()
    inflow, _ = flooded(sink, 100_000)
    sink.open.set()
    inflow.finish(5, 30)
    assert len(sink.texts) * 100 <= BACKLOG_BYTES + (1 << 20)


def test_lines_arrive_whole_and_in_order() -> None:
    sink = Sink()
    sink.open.set()
    inflow, _ = flooded(sink, 5_000)
    inflow.finish(5, 30)
    assert sink.texts == [str(number) for number in range(5_000)]


def test_a_log_over_its_budget_ends_with_the_last_lines_and_counts_the_rest() -> None:
    shelf, (read, write) = Shelf(), os.pipe()
    book = LogBook(shelf, budget=Budget(burst=1, rate=1))
    book.start()
    book.read(read, "job")
    for number in range(0, 200_000, 100):
        os.write(write, b"".join(b"%-99d\n" % each for each in range(number, number + 100)))
    assert eventually(lambda: book.tail("job")[-1:] == ["199999"])
    os.close(write)
    assert book.finish(60)
    texts = shelf.texts()
    said = [int(text[1:].split()[0]) for text in texts if "lines dropped" in text]
    assert texts[-1] == "199999"
    assert sum(said) + len(texts) - len(said) == 200_000
    os.close(read)

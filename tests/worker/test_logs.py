"""Log segments on their way to the bucket."""

import json
import os
import threading

from tutti_worker.logs import SEGMENT_BYTES, Budget, LogBook, own_line

from tests.worker.builders import eventually


class Shelf:
    """Where segments end up."""

    def __init__(self) -> None:
        self.segments: list[tuple[int, bytes, int]] = []
        self.open = threading.Event()
        self.open.set()

    def __call__(self, number: int, body: bytes, lines: int) -> None:
        self.open.wait(10)
        self.segments.append((number, body, lines))

    def texts(self) -> list[str]:
        """Every line shipped so far."""
        return [json.loads(line)["text"] for _, body, _ in self.segments for line in body.splitlines()]


def test_what_a_pipe_brings_is_shipped_within_seconds_and_in_order() -> None:
    shelf, (read, write) = Shelf(), os.pipe()
    book = LogBook(shelf)
    book.start()
    book.read(read, "job")
    os.write(write, b"one\ntwo\n")
    assert eventually(lambda: shelf.texts() == ["one", "two"])
    os.write(write, b"three")
    os.close(write)
    assert book.finish(10)
    assert shelf.texts() == ["one", "two", "three"]
    assert [number for number, _, _ in shelf.segments] == list(range(1, len(shelf.segments) + 1))
    assert book.tail("job") == ["one", "two", "three"]
    os.close(read)


def test_a_flood_is_cut_into_segments_of_256_kb() -> None:
    shelf = Shelf()
    book = LogBook(shelf)
    book.start()
    for number in range(3000):
        book.add(own_line(f"{number} " + "x" * 300))
    assert book.finish(10)
    assert len(shelf.texts()) == 3000
    assert max(len(body) for _, body, _ in shelf.segments) <= SEGMENT_BYTES
    assert all(body.count(b"\n") == lines for _, body, lines in shelf.segments)


def test_when_shipping_falls_behind_the_oldest_lines_go_and_a_line_says_how_many() -> None:
    shelf = Shelf()
    shelf.open.clear()
    book = LogBook(shelf)
    book.start()
    for number in range(12_000):
        book.add(own_line(f"{number} " + "x" * 1000))
    shelf.open.set()
    assert book.finish(20)
    texts = shelf.texts()
    assert texts[-1].startswith("11999 ")
    assert any("lines dropped" in text for text in texts)


def test_nothing_is_shipped_while_nothing_is_said() -> None:
    shelf = Shelf()
    book = LogBook(shelf)
    book.start()
    assert book.finish(5)
    assert shelf.segments == []


def test_a_segment_that_could_not_be_stored_is_counted_and_leaves_no_gap_in_the_numbers() -> None:
    shelf, refusals = Shelf(), [2]

    def ship(number: int, body: bytes, lines: int) -> None:
        if refusals[0]:
            refusals[0] -= 1
            raise OSError("no connection")
        shelf(number, body, lines)

    book = LogBook(ship)
    book.start()
    for number in range(3000):
        book.add(own_line(f"{number} " + "x" * 300))
    assert book.finish(10)
    dropped = next(int(text[1:].split()[0]) for text in shelf.texts() if "lines dropped" in text)
    assert dropped + len(shelf.texts()) - 1 == 3000
    assert [number for number, _, _ in shelf.segments] == list(range(1, len(shelf.segments) + 1))


def test_a_flood_is_shipped_no_faster_than_its_budget() -> None:
    shelf = Shelf()
    book = LogBook(shelf, budget=Budget(burst=1, rate=1))
    book.start()
    for number in range(12_000):
        book.add(own_line(f"{number} " + "x" * 1000))
    assert eventually(lambda: bool(shelf.segments))
    assert not eventually(lambda: len(shelf.segments) > 1, 0.5)
    assert book.finish(20)
    texts = shelf.texts()
    assert texts[-1].startswith("11999 ")
    assert any("lines dropped" in text for text in texts)


def test_a_spent_budget_fills_again_with_time() -> None:
    now = [0.0]
    budget = Budget(burst=100, rate=10, clock=lambda: now[0])
    budget.spend(150)
    assert budget.wait_s() == 5
    now[0] = 1000
    budget.spend(100)
    assert budget.wait_s() == 0
    budget.spend(10)
    assert budget.wait_s() == 1

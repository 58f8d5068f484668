"""How fast and how long: what is said while files are on their way, and while rounds go by."""

import io
from datetime import datetime, timedelta

from tutti_fl.board import Board
from tutti_fl.decoding import decode
from tutti_fl.meter import Meter, Progress
from tutti_fl.plain_teller import PlainTeller
from tutti_fl.shapes.live import Live
from tutti_fl.words import progress_words

from tests.client.builders import NOW, job


class Watched:
    """A meter of 1,000 bytes with a clock of its own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.told: list[Progress] = []
        self.meter = Meter(2, 1000, self.told.append, clock=lambda: self.now)

    def after(self, seconds: float, size: int) -> "Watched":
        self.now += seconds
        self.meter.add(size)
        return self


def test_the_time_left_follows_from_the_speed_of_late() -> None:
    progress = Watched().after(2, 200).after(2, 200).told[-1]
    assert (progress.speed, progress.left_s) == (100.0, 6.0)


def test_what_an_earlier_attempt_sent_does_not_count_for_the_speed() -> None:
    watched = Watched()
    watched.meter.found(500)
    progress = watched.after(1, 100).told[-1]
    assert (progress.bytes_done, progress.speed, progress.left_s) == (600, 100.0, 4.0)


def test_a_line_that_became_slow_is_noticed_within_the_window() -> None:
    watched = Watched().after(1, 500)
    for _ in range(20):
        watched.after(1, 1)
    assert watched.told[-1].speed == 1.0


def test_before_anything_moved_no_time_is_promised() -> None:
    watched = Watched()
    watched.meter.found(10)
    assert (watched.told[-1].speed, watched.told[-1].left_s) == (None, None)


def test_trouble_is_forgotten_when_bytes_move_again() -> None:
    watched = Watched()
    watched.meter.trouble("no answer")
    watched.after(1, 10)
    assert [progress.trouble for progress in watched.told] == ["no answer", ""]


def test_words_tell_sizes_files_speed_and_time_left() -> None:
    progress = Progress(files=3, files_done=1, bytes=30_000_000, bytes_done=12_000_000, speed=6e6)
    assert progress_words(progress) == "12.0 MB of 30.0 MB, 1 of 3 files, 6.0 MB/s, 3 s left"


def test_words_of_an_outage_tell_that_it_is_tried_again() -> None:
    progress = Progress(files=1, files_done=0, bytes=10, bytes_done=5, speed=1.0, trouble="no answer from the store")
    assert progress_words(progress) == "5 B of 10 B, no answer from the store; trying again"


def test_plain_lines_of_an_upload_are_few_and_end_with_the_whole() -> None:
    stream = io.StringIO()
    teller = PlainTeller(stream)
    for done in range(101):
        teller.uploaded(Progress(files=1, files_done=done // 100, bytes=100, bytes_done=done))
    lines = stream.getvalue().splitlines()
    assert (len(lines), "100 B of 100 B" in lines[-1]) == (5, True)


def test_plain_lines_tell_a_trouble_once() -> None:
    stream = io.StringIO()
    teller = PlainTeller(stream)
    for _ in range(20):
        teller.uploaded(Progress(files=1, files_done=0, bytes=100, bytes_done=5, trouble="no answer"))
    assert len(stream.getvalue().splitlines()) == 1


def after_rounds(done: int, of: int) -> Board:
    """A job whose rounds took 10 s each."""
    began = datetime.fromisoformat(NOW)
    changes = [{"kind": "round_started", "round": 0}, *({"kind": "round_ended", "round": n, "accepted": []} for n in range(done))]
    feed = [
        {"seq": n, "at": (began + timedelta(seconds=10 * n)).isoformat(), "change": change} for n, change in enumerate(changes)
    ]
    board = Board()
    running = job(state="RUNNING", rounds=of, rounds_done=done)
    board.add(decode(Live, {"seq": len(feed), "job": running, "feed": feed, "next_in_ms": 1000}))
    return board


def test_the_rounds_to_come_take_as_long_as_those_done() -> None:
    assert after_rounds(3, 8).left_s() == 50.0


def test_before_the_first_round_is_done_no_time_is_promised() -> None:
    assert after_rounds(0, 8).left_s() is None

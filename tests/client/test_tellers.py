"""What is drawn on a terminal, and what is known of a job."""

import io
import re

from rich.console import Console
from tutti_fl.board import Board, BoardRound, by_number
from tutti_fl.decoding import decode
from tutti_fl.meter import Progress
from tutti_fl.rich_teller import RichTeller
from tutti_fl.shapes.live import Live

from tests.client.builders import ended
from tests.client.test_run import FEED


def board() -> Board:
    known = Board()
    known.add(decode(Live, ended("FINISHED", feed=FEED)))
    return known


def drawn(width: int = 100) -> str:
    """A terminal after an upload and a finished job."""
    stream = io.StringIO()
    with RichTeller(Console(file=stream, force_terminal=True, width=width, no_color=True)) as teller:
        teller.step("Uploading")
        teller.uploaded(Progress(2, 1, 1000, 500))
        teller.step("Following")
        teller.board(board())
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())


def test_the_loss_table_shows_the_mean_and_every_worker() -> None:
    assert "0.5000  0.2500 0.7500" in drawn()


def test_what_was_uploaded_stays_on_the_screen() -> None:
    assert "500 B of 1.0 KB, 1 of 2 files" in drawn()


def test_a_mean_the_server_did_not_give_is_weighted_by_samples() -> None:
    row = BoardRound(0, {"site-1": {"acc": 1.0}, "site-2": {"acc": 0.0}, "server": {}}, {"site-1": 30, "site-2": 10})
    assert row.mean("acc") == 0.75


def test_a_value_that_is_not_finite_is_left_out_of_the_mean() -> None:
    row = BoardRound(0, {"site-1": {"acc": 1.0}, "site-2": {"acc": None}})
    assert row.mean("acc") == 1.0


def test_sites_are_in_natural_order() -> None:
    assert sorted(["site-10", "site-9", "server"], key=by_number) == ["server", "site-9", "site-10"]


def test_the_first_step_is_when_the_first_number_came() -> None:
    assert board().first_step_at is not None

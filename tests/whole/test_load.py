"""Fifty users at once for a minute: nobody is refused, nobody sees another's, nobody waits long.

Each of them asks one of the ten most used routes once a second, in an order of his own, on a connection of his own: the fastest
pace that the API itself asks for (``next_in_ms`` of a job that is pending; a running one is asked every 1.5 s). Asking back to
back would prove nothing here: with 50 requests always in the queue an answer takes 50 times what the machine needs for one, so
only a machine of five free processors or more could stay below ten. ``python -m benchmarks.load`` measures that too.
"""

from pathlib import Path

import pytest

from benchmarks.crowd import Tally, at, middle, one_by_one, together
from benchmarks.load import PACE_S
from benchmarks.routes import ROUTES
from benchmarks.visitors import Visitor, invite
from tests.whole.conftest import started

pytestmark = [pytest.mark.slow, pytest.mark.timed, pytest.mark.timeout(900)]

VISITORS = 50
SECONDS = 60.0
TURNS = 40


class Measured:
    """The same routes asked one by one before and after, and by everybody at once in between."""

    def __init__(self, url: str, visitors: list[Visitor]) -> None:
        one_by_one(url, visitors, 5)  # connections and caches are made once
        first = one_by_one(url, visitors, TURNS)
        self.crowd = together(url, visitors, SECONDS, think_s=PACE_S)
        last = one_by_one(url, visitors, TURNS)
        self.alone = Tally({name: times + last.took[name] for name, times in first.took.items()}, first.wrong + last.wrong)


@pytest.fixture(name="measured", scope="module")
def all_measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """One measurement of a stack that does nothing else."""
    folder: Path = tmp_path_factory.mktemp("load")
    with started(folder, folder / "data") as (_, url):
        return Measured(url, invite(url, folder / "data", VISITORS))


def test_every_answer_is_right_and_speaks_of_its_own_user_alone(measured: Measured) -> None:
    assert measured.alone.wrong + measured.crowd.wrong == []


def test_everybody_is_served(measured: Measured) -> None:
    assert measured.crowd.answers >= 0.8 * VISITORS * SECONDS / (PACE_S + middle(measured.crowd.every()))


def test_the_slowest_of_a_hundred_answers_takes_no_more_than_ten_times_a_lone_one(measured: Measured) -> None:
    assert at(measured.crowd.every(), 99) <= 10 * middle(measured.alone.every()), told(measured)


def test_no_route_is_slower_than_the_slowest_alone_would_make_it(measured: Measured) -> None:
    slowest = max(middle(times) for times in measured.alone.took.values())
    late = [route.name for route in ROUTES if at(measured.crowd.took[route.name], 99) > 10 * slowest]
    assert late == [], told(measured)


def told(measured: Measured) -> str:
    """What was measured, a line for each route."""
    return "\n".join(
        f"{name}: alone {middle(alone) * 1000:.1f} ms, together p50 {middle(crowd) * 1000:.1f}, p99 {at(crowd, 99) * 1000:.1f}"
        for (name, alone), crowd in zip(measured.alone.took.items(), measured.crowd.took.values(), strict=True)
    )

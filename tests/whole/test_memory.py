"""Memory: the API does not grow with requests, and a stack with nothing to do holds little."""

import time
from dataclasses import dataclass

import psutil
import pytest
from tutti_fl import Client

from benchmarks.crowd import in_a_row
from benchmarks.routes import ROUTES, Route
from benchmarks.visitors import Visitor, invite
from tests.whole.builders import folder
from tests.whole.conftest import LiveStack, run, started

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(900)]

MIB = 1 << 20
REQUESTS = 10_000
GROWTH = 8 * MIB
IDLE = 250 * MIB
QUIET_WITHIN_S = 60
LONG = b'{"numbers": [' + b"1, " * 200_000 + b"1]}"

WRONG = (
    Route("no such job", lambda _: "/jobs/job-77777777777777777777777777", lambda _, body: b"job_not_found" in body, status=404),
    Route("no such route", lambda _: "/nothing/here", lambda _, body: b"not_found" in body, status=404),
    Route("not JSON", lambda v: f"/uploads/{v.upload}/sign", lambda _, body: b"invalid" in body, body=b"{", status=422),
    Route("too many parts", lambda v: f"/uploads/{v.upload}/sign", lambda _, body: b"invalid" in body, body=LONG, status=422),
)
LIGHT = tuple(route for route in ROUTES if route.name not in ("workspaces", "workspace", "files"))


@dataclass(frozen=True)
class Grown:
    """What the stack's own process held after the warm-up and after the requests, and what was answered wrongly."""

    before: int
    after: int
    wrong: list[str]


@pytest.fixture(name="grown", scope="module")
def asked_ten_thousand_times(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    """One stack, warmed up, then asked: mostly cheap routes, a tenth of it those that list the bucket, a tenth mistakes."""
    home = tmp_path_factory.mktemp("grown")
    with started(home, home / "data") as (process, url):
        visitors = invite(url, home / "data", 4)
        mix = [*LIGHT * 8, *ROUTES, *WRONG]
        wrong = asked(url, visitors, mix, 2_000)
        before = held(process.pid)
        wrong += asked(url, visitors, mix, REQUESTS)
        return Grown(before, held(process.pid), wrong)


def asked(url: str, visitors: list[Visitor], mix: list[Route], count: int) -> list[str]:
    """Ask so many times, four visitors at once; what was not right."""
    return in_a_row(url, visitors, (mix * (count // len(mix) + 1))[: count // len(visitors)]).wrong


def held(pid: int) -> int:
    """The memory of one process, what it shares counted in part."""
    return int(psutil.Process(pid).memory_full_info().pss)


def held_in_all(pid: int) -> dict[str, int]:
    """The memory of a stack, process by process."""
    parent = psutil.Process(pid)
    return {f"{one.name()} {one.pid}": held(one.pid) for one in (parent, *parent.children(recursive=True))}


def test_ten_thousand_requests_leave_the_api_as_large_as_it_was(grown: Grown) -> None:
    assert grown.after - grown.before <= GROWTH


def test_all_of_them_are_answered_rightly(grown: Grown) -> None:
    assert grown.wrong == []


@pytest.fixture(name="idle", scope="module")
def after_a_job_and_after_a_restart(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    """What an idle stack holds: a new one, one whose job has ended, and one that was started again over the same data."""
    home = tmp_path_factory.mktemp("idle")
    found: dict[str, dict[str, int]] = {}
    with started(home / "first", home / "data") as (process, url):
        found["new"] = held_in_all(process.pid)
        with Client(url, LiveStack(url, home / "data").token("ada")) as ada:
            outcome = run(ada, folder(home / "f"), "once", rounds=1)
        assert outcome.job is not None
        assert outcome.job.state == "FINISHED", outcome.job.reason
        found["after a job"] = when_quiet(process.pid)
    with started(home / "second", home / "data") as (process, _):
        found["restarted"] = when_quiet(process.pid)
    return found


def when_quiet(pid: int) -> dict[str, int]:
    """What is held once only the stack and its object store are left, or after a minute whatever is left."""
    until = time.monotonic() + QUIET_WITHIN_S
    while len(found := held_in_all(pid)) > 2 and time.monotonic() < until:
        time.sleep(1)
    return found


@pytest.mark.parametrize("when", ["new", "after a job", "restarted"])
def test_an_idle_stack_is_two_processes(idle: dict[str, dict[str, int]], when: str) -> None:
    assert len(idle[when]) == 2, idle[when]


@pytest.mark.parametrize("when", ["new", "after a job", "restarted"])
def test_an_idle_stack_holds_little(idle: dict[str, dict[str, int]], when: str) -> None:
    assert sum(idle[when].values()) <= IDLE, idle[when]

"""Visitors at work: raw HTTP over kept connections, so that what is measured is the server and not its clients."""

import asyncio
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from benchmarks.routes import ROUTES, Route
from benchmarks.visitors import Visitor


@dataclass
class Tally:
    """What was asked and how long each answer took, in seconds, by route; ``wrong`` tells of what was not right."""

    took: dict[str, list[float]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    @property
    def answers(self) -> int:
        """How many there were."""
        return sum(map(len, self.took.values()))

    def every(self) -> list[float]:
        """The times of all routes together."""
        return [each for times in self.took.values() for each in times]


class _Line:
    """One connection, kept open."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self.host = f"{host}:{port}"

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(*self._address)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Status and body."""
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r")[0])
        return int(head[9:12]), await self._reader.readexactly(length)


def one_by_one(url: str, visitors: Sequence[Visitor], turns: int) -> Tally:
    """One client alone: each turn is every route once, as another visitor."""
    tally = Tally()
    asyncio.run(_turns(url, visitors, turns, tally))
    return tally


def together(url: str, visitors: Sequence[Visitor], seconds: float, *, think_s: float) -> Tally:
    """All visitors at once for so long, each on a connection of its own, asking in an order of its own.

    ``think_s`` is the mean pause after an answer; 0 asks again at once.
    """
    tally = Tally()
    asyncio.run(_all(url, visitors, seconds, think_s, tally))
    return tally


def in_a_row(url: str, visitors: Sequence[Visitor], routes: Sequence[Route]) -> Tally:
    """All visitors at once, each asking these routes in this order, on one connection."""
    tally = Tally()
    asyncio.run(_in_a_row(url, visitors, routes, tally))
    return tally


def at(times: Iterable[float], percent: float) -> float:
    """The time within which this share of the answers came."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def middle(times: Iterable[float]) -> float:
    """The median."""
    return median(times)


async def _turns(url: str, visitors: Sequence[Visitor], turns: int, tally: Tally) -> None:
    async with _line(url) as line:
        for turn in range(turns):
            for route in ROUTES:
                await _ask(line, visitors[turn % len(visitors)], route, tally)


async def _all(url: str, visitors: Sequence[Visitor], seconds: float, think_s: float, tally: Tally) -> None:
    until = time.monotonic() + seconds
    await asyncio.gather(*(_one(url, visitor, until, think_s, tally) for visitor in visitors))


async def _in_a_row(url: str, visitors: Sequence[Visitor], routes: Sequence[Route], tally: Tally) -> None:
    async def ask_all(visitor: Visitor) -> None:
        async with _line(url) as line:
            for route in routes:
                await _ask(line, visitor, route, tally)

    await asyncio.gather(*map(ask_all, visitors))


async def _one(url: str, visitor: Visitor, until: float, think_s: float, tally: Tally) -> None:
    chance = random.Random(visitor.name)  # noqa: S311 - an order, not a secret
    await asyncio.sleep(chance.uniform(0, think_s))
    async with _line(url) as line:
        while time.monotonic() < until:
            for route in chance.sample(ROUTES, len(ROUTES)):
                await _ask(line, visitor, route, tally)
                await asyncio.sleep(chance.uniform(0.5, 1.5) * think_s)


async def _ask(line: _Line, visitor: Visitor, route: Route, tally: Tally) -> None:
    began = time.perf_counter()
    status, body = await line.ask(route.request(visitor, line.host))
    tally.took.setdefault(route.name, []).append(time.perf_counter() - began)
    if status != route.status or not route.holds(visitor, body):
        tally.wrong.append(f"{visitor.name} {route.name}: {status} {body[:300]!r}")


def _line(url: str) -> _Line:
    parts = urlsplit(url)
    return _Line(parts.hostname or "", parts.port or 0)

"""The log lines of a job, put together from the pieces its workers stored."""

import heapq
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import httpx

from tutti_fl.client import Client
from tutti_fl.connections import open_http
from tutti_fl.errors import TransferFailed, TuttiError
from tutti_fl.jobs import Outage
from tutti_fl.shapes.jobs import SERVER, Job, LogSegment
from tutti_fl.store_answers import Verdict, no_answer, refused
from tutti_fl.transport import Pause

PATIENCE_S = 300.0
LOOK_EVERY_S = 2.0
BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class LogLine:
    """One line of one process."""

    at: datetime
    site: str
    level: str
    text: str


class JobLogs:
    """Reads the logs of one job; use it in a ``with``."""

    def __init__(self, client: Client, job: Job, sites: Sequence[str] = (), *, pause: Pause) -> None:
        known = sites_of(job)
        if unknown := [site for site in sites if site not in known]:
            raise TuttiError("usage", f"{job.id} has no site {unknown[0]!r}", f"It has {_in_short(known)}.")
        self._client, self._job, self._pause = client, job, pause
        self._sites = tuple(sites) or known
        self._store = open_http()

    def __enter__(self) -> "JobLogs":
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def lines(self) -> Iterator[LogLine]:
        """Everything stored so far, in the order of time; one piece of each log is in memory."""
        return heapq.merge(*(self._lines_of(site) for site in self._sites), key=lambda line: line.at)

    def follow(self) -> Iterator[LogLine]:
        """Everything stored so far and everything to come, until the job has ended; in the order of time as it arrives."""
        after, outage = 0, Outage(PATIENCE_S, self._pause)
        while True:
            try:
                # Asked before the pieces are: what was stored before the end is among them.
                ended = self._client.jobs.get(self._job.id).ended
                page = self._client.jobs.logs_page(self._job.id, after=after)
            except TuttiError as error:
                outage.sit_out(error)
                continue
            outage.over()
            wanted = [segment for segment in page.segments if segment.source in self._sites]
            yield from sorted(chain.from_iterable(map(self._read, wanted)), key=lambda line: line.at)
            after = page.after
            if page.more:
                continue
            if ended:
                return
            self._pause(LOOK_EVERY_S)

    def _lines_of(self, site: str) -> Iterator[LogLine]:
        for segment in self._client.jobs.logs(self._job.id, site):
            yield from self._read(segment)

    def _read(self, segment: LogSegment) -> Iterator[LogLine]:
        """The lines of one piece. A piece that was deleted is one line that says so."""
        retries, url = self._client.transport.retries.patient(lambda _: None), segment.url
        verdict = Verdict()
        for attempt in range(retries.tries):
            text, verdict = self._fetch(url)
            if not verdict.cause:
                return _parsed(segment.source, text)
            if verdict.gone:
                return iter([LogLine(BEFORE_ALL, segment.source, "warning", "(a piece of this log was deleted from the bucket)")])
            if not verdict.passing and attempt == retries.refusals - 1:
                break
            retries.wait(attempt if verdict.passing else 0, verdict.cause)
            url = self._signed_anew(segment)
        raise TransferFailed(f"a piece of {segment.source}'s log", verdict.cause)

    def _fetch(self, url: str) -> tuple[str, Verdict]:
        try:
            answer = self._store.get(url)
        except httpx.TransportError as error:
            return "", no_answer(error)
        return (answer.content.decode("utf-8", "replace"), Verdict()) if answer.is_success else ("", refused(answer))

    def _signed_anew(self, segment: LogSegment) -> str:
        page = self._client.jobs.logs_page(self._job.id, segment.source, after=segment.seq - 1)
        return next((found.url for found in page.segments if found.seq == segment.seq), segment.url)


def sites_of(job: Job) -> tuple[str, ...]:
    """The processes of a job that write logs."""
    return (SERVER, *(f"site-{number}" for number in range(1, job.workers + 1)))


def _in_short(sites: Sequence[str]) -> str:
    return ", ".join(sites) if len(sites) <= 4 else f"{sites[0]}, {sites[1]} … {sites[-1]}"


def _parsed(site: str, text: str) -> Iterator[LogLine]:
    """The lines in their order; one without a readable time has that of the line before."""
    at = BEFORE_ALL
    for raw in text.split("\n"):  # a line's text may hold other line ends, as Python sees them
        if raw.strip():
            line = _line(site, raw, at)
            at = line.at
            yield line


def _line(site: str, raw: str, before: datetime) -> LogLine:
    try:
        said: dict[str, Any] = json.loads(raw)
        at = datetime.fromisoformat(said["t"])
        return LogLine(max(at.astimezone(UTC), before), site, str(said["level"]), str(said["text"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return LogLine(before, site, "info", raw)

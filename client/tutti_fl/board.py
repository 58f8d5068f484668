"""What is known of a job while it is followed: the live feed, folded."""

from dataclasses import dataclass, field
from datetime import datetime

from tutti_fl.shapes.jobs import RUNNING, SERVER, Job, Worker
from tutti_fl.shapes.live import FeedItem, Live, Metrics, PhaseChanged, RoundEnded, RoundStarted, StateChanged, Warned

Values = dict[str, float | None]


@dataclass
class BoardRound:
    """One round: numbers by site (``server`` holds the means of what the workers reported)."""

    number: int
    sites: dict[str, Values] = field(default_factory=dict)
    samples: dict[str, int] = field(default_factory=dict)
    accepted: tuple[str, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    seconds: float | None = None
    ended: bool = False

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of all numbers, in the order in which they came."""
        return tuple(dict.fromkeys(name for values in self.sites.values() for name in values))

    @property
    def workers(self) -> tuple[str, ...]:
        """The workers that reported, in natural order."""
        return tuple(sorted((site for site in self.sites if site != SERVER), key=by_number))

    def mean(self, name: str) -> float | None:
        """The server's mean, else the workers' weighted by their samples; None when nobody has a finite value."""
        if (value := self.sites.get(SERVER, {}).get(name)) is not None:
            return value
        pairs = [(self.sites[site].get(name), self.samples.get(site, 1)) for site in self.workers]
        known = [(value, weight) for value, weight in pairs if value is not None]
        total = sum(weight for _, weight in known)
        return sum(value * weight for value, weight in known) / total if total else None


class Board:
    """Grows with every answer of the live feed."""

    def __init__(self) -> None:
        self.job: Job | None = None
        self.workers: dict[str, Worker] = {}
        self.rounds: dict[int, BoardRound] = {}
        self.warnings: list[Warned] = []
        self.news: tuple[FeedItem, ...] = ()
        """The changes of the last answer."""
        self.running_at: datetime | None = None
        self.first_step_at: datetime | None = None
        """When the first worker had done its first step of training, as far as it told."""
        self._rounds_began_at: datetime | None = None
        self._round_ended_at: datetime | None = None

    def add(self, live: Live) -> None:
        """Take in one answer."""
        self.job = live.job or self.job
        self.workers |= {worker.site: worker for worker in live.workers}
        self.news = live.feed
        for item in live.feed:
            self._note_times(item)
            self._take(item)

    def workers_in_order(self) -> list[Worker]:
        """The central server first, then the workers by number."""
        return [self.workers[site] for site in sorted(self.workers, key=by_number)]

    def metrics(self) -> tuple[str, ...]:
        """The names of all numbers of all rounds."""
        return tuple(dict.fromkeys(name for number in sorted(self.rounds) for name in self.rounds[number].metrics))

    def left_s(self) -> float | None:
        """Seconds to the end of the last round at the pace of those done; None while none is, and when all are."""
        job, began, ended = self.job, self._rounds_began_at, self._round_ended_at
        if job is None or job.ended or began is None or ended is None or not 0 < job.rounds_done < job.rounds:
            return None
        return (ended - began).total_seconds() / job.rounds_done * (job.rounds - job.rounds_done)

    def _take(self, item: FeedItem) -> None:
        match item.change:
            case Metrics(source="progress"):
                pass
            case Metrics() as metrics:
                row = self._round(metrics.round)
                row.sites.setdefault(metrics.site, {}).update(metrics.values)
                if metrics.samples is not None:
                    row.samples[metrics.site] = metrics.samples
            case RoundEnded() as ended:
                row = self._round(ended.round)
                row.accepted, row.refused, row.seconds, row.ended = ended.accepted, ended.refused, ended.seconds, True
            case Warned() as warning:
                self.warnings.append(warning)

    def _note_times(self, item: FeedItem) -> None:
        match item.change:
            case StateChanged(state=state) if state == RUNNING:
                self.running_at = self.running_at or item.at
            case RoundStarted():
                self._rounds_began_at = self._rounds_began_at or item.at
            case RoundEnded():
                self._round_ended_at = item.at
            case Metrics():
                self.first_step_at = self.first_step_at or item.at
            case PhaseChanged(phase="uploading", site=site) if site != SERVER:
                self.first_step_at = self.first_step_at or item.at

    def _round(self, number: int) -> BoardRound:
        return self.rounds.setdefault(number, BoardRound(number))


def by_number(site: str) -> tuple[int, str]:
    """Sorts ``server`` first and ``site-10`` after ``site-9``."""
    tail = site.rsplit("-", 1)[-1]
    return (int(tail) if tail.isdigit() else -1, site)

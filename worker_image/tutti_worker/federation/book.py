"""The book of one round: who answered, what counted, and the first thing that went wrong."""

import threading
import time
from collections.abc import Collection, Iterable

from chalicelib.contracts.job import Cause, ReasonCode
from chalicelib.contracts.worker import RoundDoneEvent, SiteResult
from tutti_worker.federation.store import by_site


class RoundBook:
    """Holds one result per site; a refusal is final, so a site never counts after one.

    Answers come from several threads at once, and none counts any more once the book is closed.
    """

    def __init__(self, round: int) -> None:
        self.round = round
        self._sites: dict[str, SiteResult] = {}
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._closed = False

    @property
    def accepted(self) -> list[str]:
        """The sites whose updates count."""
        return [site for site, result in self._snapshot().items() if result.accepted]

    @property
    def first_cause(self) -> Cause | None:
        """The earliest refusal."""
        return next((result.refused for result in self._snapshot().values() if result.refused), None)

    @property
    def seconds(self) -> float:
        """How long the round has lasted."""
        return time.monotonic() - self._started

    @property
    def closed(self) -> bool:
        """True once what will be averaged is decided."""
        return self._closed

    def close(self) -> list[str]:
        """Count no further answer; the sites whose updates count so far."""
        with self._lock:
            self._closed = True
        return self.accepted

    def accept(self, site: str, samples: int | None, metrics: dict[str, float | None]) -> bool:
        """Count a site's update; False when the book is closed already."""
        with self._lock:
            if not self._closed and site not in self._sites:
                self._sites[site] = SiteResult(accepted=True, samples=samples, metrics=metrics)
            return not self._closed

    def refuse(self, site: str, cause: Cause) -> None:
        """Count a site's update no longer, and say why."""
        with self._lock:
            if self._closed:
                return
            before = self._sites.pop(site, None) or SiteResult(accepted=False)
            self._sites[site] = before.model_copy(update={"accepted": False, "refused": before.refused or cause})

    def settle(self, averaged: Collection[str]) -> None:
        """Strike from the closed book whoever the aggregator does not hold: only what is averaged counts."""
        for site in self.accepted:
            if site not in averaged:
                sentence = f"the update of {site} was not stored before the round was averaged, so it does not count"
                cause = Cause(code=ReasonCode.UPDATE_REFUSED, sentence=sentence, site=site, round=self.round)
                with self._lock:
                    struck = self._sites[site].model_copy(update={"accepted": False, "refused": cause})
                    self._sites[site] = struck

    def shortfall(self, minimum: int, sites: Iterable[str], timeout_s: float) -> Cause | None:
        """Why the round must not be averaged: fewer updates than the minimum count, or none has a sample."""
        silent = list(by_site(dict.fromkeys(set(sites) - self._snapshot().keys())))
        if len(self.accepted) < minimum:
            return self.first_cause or self._too_few(minimum, silent, timeout_s)
        if all(result.samples == 0 for result in self._snapshot().values() if result.accepted):
            return Cause(code=ReasonCode.NO_SAMPLES, sentence="every worker reported zero samples", round=self.round)
        return None

    def _snapshot(self) -> dict[str, SiteResult]:
        with self._lock:
            return dict(self._sites)

    def done(self, sites: Iterable[str] = ()) -> RoundDoneEvent:
        """The round as an event; whoever of ``sites`` has not answered is in it as refused."""
        everyone = {site: self._missed(site) for site in sites} | self._snapshot()
        return RoundDoneEvent(round=self.round, sites=by_site(everyone), seconds=round(self.seconds, 3))

    def _missed(self, site: str) -> SiteResult:
        sentence = f"{site} had not answered when the round was averaged"
        cause = Cause(code=ReasonCode.ROUND_TIMED_OUT, sentence=sentence, site=site, round=self.round)
        return SiteResult(accepted=False, refused=cause)

    def _too_few(self, minimum: int, silent: list[str], timeout_s: float) -> Cause:
        timed_out = timeout_s > 0 and self.seconds >= timeout_s
        waited = f"within {timeout_s:g} s" if timed_out else "any more"
        who = ", ".join(silent) or "nobody else"
        return Cause(
            code=ReasonCode.ROUND_TIMED_OUT if timed_out else ReasonCode.BELOW_MINIMUM,
            sentence=f"{len(self.accepted)} of at least {minimum} workers answered; {who} did not answer {waited}",
            site=silent[0] if silent else None,
            round=self.round,
        )

"""The book of one round: who answered, what counted, and the first thing that went wrong."""

import time
from collections.abc import Iterable

from chalicelib.contracts.job import Cause, ReasonCode
from chalicelib.contracts.worker import RoundDoneEvent, SiteResult
from tutti_worker.federation.store import by_site


class RoundBook:
    """Holds one result per site; a refusal is final, so a site never counts after one."""

    def __init__(self, round: int) -> None:
        self.round = round
        self._sites: dict[str, SiteResult] = {}
        self._started = time.monotonic()

    @property
    def accepted(self) -> list[str]:
        """The sites whose updates count."""
        return [site for site, result in self._sites.items() if result.accepted]

    @property
    def first_cause(self) -> Cause | None:
        """The earliest refusal."""
        return next((result.refused for result in self._sites.values() if result.refused), None)

    @property
    def seconds(self) -> float:
        """How long the round has lasted."""
        return time.monotonic() - self._started

    def accept(self, site: str, samples: int | None, metrics: dict[str, float | None]) -> None:
        """Count a site's update."""
        if site not in self._sites:
            self._sites[site] = SiteResult(accepted=True, samples=samples, metrics=metrics)

    def refuse(self, site: str, cause: Cause) -> None:
        """Count a site's update no longer, and say why."""
        before = self._sites.pop(site, None) or SiteResult(accepted=False)
        self._sites[site] = before.model_copy(update={"accepted": False, "refused": before.refused or cause})

    def shortfall(self, minimum: int, sites: Iterable[str], timeout_s: float) -> Cause | None:
        """Why the round must not be averaged: fewer updates than the minimum count, or none has a sample."""
        silent = sorted(set(sites) - self._sites.keys())
        if len(self.accepted) < minimum:
            return self.first_cause or self._too_few(minimum, silent, timeout_s)
        if all(self._sites[site].samples == 0 for site in self.accepted):
            return Cause(code=ReasonCode.NO_SAMPLES, sentence="every worker reported zero samples", round=self.round)
        return None

    def done(self) -> RoundDoneEvent:
        """The round as an event."""
        return RoundDoneEvent(round=self.round, sites=by_site(self._sites), seconds=round(self.seconds, 3))

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

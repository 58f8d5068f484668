"""The rounds of a job as a table, made from its changes."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from chalicelib.contracts.job import SERVER, Change, Metrics, RoundEnded, RoundView


@dataclass
class _Row:
    samples: dict[str, int] = field(default_factory=dict)
    metrics: dict[str, dict[str, float | None]] = field(default_factory=dict)
    validated: dict[str, dict[str, float | None]] = field(default_factory=dict)
    ended: RoundEnded | None = None

    def add(self, change: Metrics) -> None:
        self.metrics.setdefault(change.site, {}).update(change.values)
        if change.source == "validate":
            self.validated[change.site] = change.values
        elif change.samples is not None:
            self.samples[change.site] = change.samples

    def means(self) -> dict[str, float | None]:
        """Each number of ``fl_validate_model`` over the workers that gave it, weighted by the samples they train on."""
        names = {name for values in self.validated.values() for name in values}
        return {name: mean for name in sorted(names) if (mean := self._mean(name)) is not None}

    def _mean(self, name: str) -> float | None:
        pairs = [(value, self.samples.get(site, 0)) for site, v in self.validated.items() if (value := v.get(name)) is not None]
        weight = sum(samples for _, samples in pairs)
        return sum(value * samples for value, samples in pairs) / weight if weight else None


def tabulate(changes: Iterable[Change]) -> tuple[RoundView, ...]:
    """One row per round that has ended, in order. Numbers of ``fl_validate_model`` stand beside the training's; progress inside a
    round is left out."""
    rows: dict[int, _Row] = {}
    for change in changes:
        if isinstance(change, RoundEnded):
            rows.setdefault(change.round, _Row()).ended = change
        elif isinstance(change, Metrics) and change.source != "progress":
            rows.setdefault(change.round, _Row()).add(change)
    return tuple(_view(number, row, row.ended) for number, row in sorted(rows.items()) if row.ended is not None)


def _view(number: int, row: _Row, ended: RoundEnded) -> RoundView:
    metrics = dict(row.metrics)
    if means := row.means():
        metrics[SERVER] = metrics.get(SERVER, {}) | means
    return RoundView(
        round=number,
        accepted=ended.accepted,
        refused=ended.refused,
        seconds=ended.seconds,
        samples=row.samples,
        metrics=metrics,
    )

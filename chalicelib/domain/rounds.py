"""The rounds of a job as a table, made from its changes."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from chalicelib.contracts.job import Change, Metrics, RoundEnded, RoundView


@dataclass
class _Row:
    samples: dict[str, int] = field(default_factory=dict)
    metrics: dict[str, dict[str, float | None]] = field(default_factory=dict)
    ended: RoundEnded | None = None

    def add(self, change: Metrics) -> None:
        self.metrics.setdefault(change.site, {}).update(change.values)
        if change.samples is not None and change.source == "train":
            self.samples[change.site] = change.samples


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
    return RoundView(
        round=number,
        accepted=ended.accepted,
        refused=ended.refused,
        seconds=ended.seconds,
        samples=row.samples,
        metrics=row.metrics,
    )

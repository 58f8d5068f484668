"""The rounds of a job as a table."""

from chalicelib.contracts.job import SERVER, Change, Metrics, RoundEnded
from chalicelib.domain.rounds import tabulate

ENDED = RoundEnded(round=0, accepted=("site-1", "site-2"))


def trained(site: str, samples: int, **values: float | None) -> Metrics:
    return Metrics(site=site, round=0, source="train", values=values, samples=samples)


def validated(site: str, **values: float | None) -> Metrics:
    return Metrics(site=site, round=0, source="validate", values=values)


def test_a_round_that_has_not_ended_is_no_row() -> None:
    assert tabulate([trained("site-1", 3, loss=1.0)]) == ()


def test_numbers_of_validation_stand_beside_those_of_training() -> None:
    [row] = tabulate([trained("site-1", 3, loss=1.0), ENDED, validated("site-1", acc=0.5)])
    assert row.metrics["site-1"] == {"loss": 1.0, "acc": 0.5}


def test_the_mean_of_validation_is_weighted_by_the_samples_of_training() -> None:
    changes: list[Change] = [
        trained("site-1", 1),
        trained("site-2", 3),
        ENDED,
        validated("site-1", acc=0.0),
        validated("site-2", acc=1.0),
    ]
    [row] = tabulate(changes)
    assert row.metrics[SERVER] == {"acc": 0.75}


def test_a_worker_whose_number_is_not_finite_is_left_out_of_the_mean() -> None:
    changes: list[Change] = [
        trained("site-1", 1),
        trained("site-2", 3),
        ENDED,
        validated("site-1", acc=0.5),
        validated("site-2", acc=None),
    ]
    [row] = tabulate(changes)
    assert row.metrics[SERVER] == {"acc": 0.5}


def test_progress_inside_a_round_is_left_out() -> None:
    step = Metrics(site="site-1", round=0, source="progress", values={"loss": 9.0}, step=1, of=2)
    [row] = tabulate([step, ENDED])
    assert row.metrics == {}

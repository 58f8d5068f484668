"""When a training counts as stuck."""

from collections.abc import Sequence

import pytest
from tutti_worker.stillness import Stillness

from chalicelib.contracts.job import Phase
from chalicelib.contracts.worker import HeartbeatEvent, PhaseEvent, ProgressEvent, WorkerEvent

LIMIT_S = 10.0
TRAINING = PhaseEvent(phase=Phase.TRAINING, round=0)
OF_NVFLARE = "2026-11-30 21:22:13,269 - nvflare.private.aux_runner.AuxRunner - INFO - enabled"


class Watched:
    """A training that is looked at as time goes by."""

    def __init__(self) -> None:
        self.now = 0.0
        self.stillness = Stillness(LIMIT_S, lambda: self.now)
        self.stillness.hear(TRAINING)

    def after(self, seconds: float, log: Sequence[str] = ()) -> float | None:
        """What is said that much later."""
        self.now += seconds
        return self.stillness.look(log)


def test_nothing_for_too_long_is_said_once() -> None:
    watched = Watched()
    assert [watched.after(6), watched.after(6), watched.after(6)] == [None, 12.0, None]


@pytest.mark.parametrize("event", [ProgressEvent(round=0, step=1, of=9), PhaseEvent(phase=Phase.TRAINING, round=1)])
def test_what_shows_progress_begins_the_count_anew(event: WorkerEvent) -> None:
    watched = Watched()
    watched.after(9)
    watched.stillness.hear(event)
    assert watched.after(9) is None


def test_a_line_of_the_users_own_begins_the_count_anew() -> None:
    watched = Watched()
    watched.after(9)
    watched.after(0, ["epoch 3"])
    assert watched.after(9, ["epoch 3"]) is None


def test_what_nvflare_itself_logs_is_no_progress() -> None:
    watched = Watched()
    watched.after(9, [OF_NVFLARE])
    assert watched.after(9, [OF_NVFLARE, OF_NVFLARE]) == 18.0


def test_a_heartbeat_is_no_progress() -> None:
    watched = Watched()
    watched.after(9)
    watched.stillness.hear(HeartbeatEvent())
    assert watched.after(9) == 18.0


def test_a_worker_that_waits_for_the_others_is_not_stuck() -> None:
    watched = Watched()
    watched.stillness.hear(PhaseEvent(phase=Phase.WAITING))
    assert watched.after(1000) is None


def test_one_that_moves_again_is_said_once() -> None:
    watched = Watched()
    watched.after(11)
    watched.stillness.hear(PhaseEvent(phase=Phase.UPLOADING))
    assert [watched.after(0), watched.after(0)] == [0.0, None]

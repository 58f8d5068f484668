"""A worker that lives and does not move: shown and counted, never ended for it."""

from datetime import timedelta

from chalicelib.contracts.job import Job, Phase, ReasonCode, Warned, WorkerState
from chalicelib.contracts.worker import FailedEvent, HeartbeatEvent, PhaseEvent, StuckEvent, WorkerEvent
from chalicelib.domain import lifecycle
from chalicelib.domain.lifecycle import Step
from tests.builders import cause, later, running_job, server, worker

STUCK = StuckEvent(quiet_s=15.0, sentence="site-1 has shown no progress", file="scripts/model_def.py", line=31)


def take(a_job: Job, a_worker: WorkerState, *events: WorkerEvent) -> Step:
    """The events one after the other, 20 s in."""
    step = Step(a_job, a_worker)
    for number, event in enumerate(events, start=a_worker.accepted_seq + 1):
        step = lifecycle.accept(step.job, step.worker, number, event, later(20))
    return step


def test_it_is_counted_from_when_it_stopped_moving() -> None:
    assert take(running_job(), worker(), STUCK).worker.stuck_since == later(20) - timedelta(seconds=15)


def test_the_warning_names_it() -> None:
    warned = take(running_job(), worker(), STUCK).changes
    assert warned == (Warned(code="worker_stuck", sentence="site-1 has shown no progress", site="site-1"),)


def test_a_heartbeat_does_not_stop_the_count() -> None:
    step = take(running_job(), worker(), STUCK)
    assert lifecycle.accept(step.job, step.worker, 2, HeartbeatEvent(), later(30)).worker.stuck_since == step.worker.stuck_since


def test_a_new_phase_stops_the_count() -> None:
    step = take(running_job(), worker(), STUCK)
    assert lifecycle.accept(step.job, step.worker, 2, PhaseEvent(phase=Phase.UPLOADING), later(30)).worker.stuck_since is None


def test_a_worker_that_moves_again_is_shown_as_such() -> None:
    step = take(running_job(), worker(stuck_since=later(1)), StuckEvent(quiet_s=None))
    assert (step.worker.stuck_since, len(step.changes)) == (None, 1)


def test_a_round_that_times_out_is_explained_by_where_its_worker_was_stuck() -> None:
    stuck = take(running_job(), worker(), STUCK).job
    late = cause(code=ReasonCode.ROUND_TIMED_OUT, sentence="site-1 did not answer within 30 s", site="site-1")
    reason = take(stuck, server(), FailedEvent(cause=late)).job.ending
    assert reason is not None
    assert (reason.file, reason.line) == ("scripts/model_def.py", 31)
    assert reason.sentence == "site-1 did not answer within 30 s: site-1 has shown no progress"


def test_another_workers_stillness_explains_no_timeout() -> None:
    stuck = take(running_job(), worker(), STUCK).job
    late = cause(code=ReasonCode.ROUND_TIMED_OUT, sentence="site-2 did not answer", site="site-2")
    reason = take(stuck, server(), FailedEvent(cause=late)).job.ending
    assert reason is not None
    assert (reason.file, reason.sentence) == (None, "site-2 did not answer")


def test_a_worker_that_is_stopped_once_the_model_is_there_is_not_lost() -> None:
    finishing = running_job(rounds_done=2, finishing_at=later(10))
    step = lifecycle.exited(Step(finishing, worker(phase=Phase.TRAINING)), 0, out_of_memory=False)
    assert (step.worker.failed, step.job.lost) == (None, 0)


def test_a_cause_without_a_round_gets_the_one_its_worker_is_in() -> None:
    step = take(running_job(), worker(round=1), FailedEvent(cause=cause(code=ReasonCode.PROCESS_KILLED)))
    assert step.worker.failed is not None
    assert step.worker.failed.round == 1

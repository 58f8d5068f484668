"""The clock's door: what a crash can cut, or silence can hide, is decided here once a second (laptop) or a minute (AWS)."""

from datetime import datetime, timedelta

from chalicelib.contracts.job import Cause, Job, JobState, ReasonCode, WorkerState
from chalicelib.domain import lifecycle
from chalicelib.domain.errors import JobNotFound, StillStopping
from chalicelib.domain.job_ids import made_at
from chalicelib.services import training
from chalicelib.services.commit import decide, signal
from chalicelib.services.training import Steps

ORPHAN_AGE = timedelta(minutes=1)
"""A launch holds its workers for a moment before its job is recorded; a lease older than this without a job is lost."""
WORKFLOW_GRACE = timedelta(seconds=5)
"""How long after the launch a missing execution is started again."""


def tick(steps: Steps) -> None:
    """Look at every active job and every lease once."""
    now = steps.clock.now()
    for job in steps.jobs.active():
        _look_at(job, now, steps)
    for job_id in steps.fleet.holders():
        _release_orphan(job_id, now, steps)


def _look_at(job: Job, now: datetime, steps: Steps) -> None:
    workers = tuple(steps.jobs.workers(job.id, job.attempt))
    cause = lifecycle.missed_start(job, workers, now)
    if cause is not None:
        job = steps.end(job.id, cause)
    for worker in workers:
        _check_silence(job, worker, now, steps)
    signal(None, steps.jobs.get(job.id), workflow=steps.workflow)
    _check_workflow(job, now, steps)


def _check_silence(job: Job, worker: WorkerState, now: datetime, steps: Steps) -> None:
    probe = lifecycle.silent(lifecycle.Step(job, worker), now)
    if not probe.changes:
        return
    decide(
        job.id,
        worker.attempt,
        worker.site,
        lambda step: lifecycle.silent(step, now),
        jobs=steps.jobs,
        workflow=steps.workflow,
        clock=steps.clock,
        ids=steps.ids,
    )


def _check_workflow(job: Job, now: datetime, steps: Steps) -> None:
    status = steps.workflow.status(job.id)
    if status is None and job.state is JobState.PENDING:
        if now - job.created_at > WORKFLOW_GRACE:
            steps.workflow.start(job.id)
    elif status is not None and status != "RUNNING":
        _finish_without_workflow(job, status, steps)


def _finish_without_workflow(job: Job, status: str, steps: Steps) -> None:
    """The execution ended without Release having closed the job: close it here."""
    if steps.jobs.get(job.id).state.ended:
        return
    sentence = f"The job's workflow ended ({status}) before the job was closed."
    steps.end(job.id, Cause(code=ReasonCode.PLATFORM_ERROR, sentence=sentence))
    try:
        training.release(job.id, steps)
    except StillStopping:
        return  # the next tick asks again


def _release_orphan(job_id: str, now: datetime, steps: Steps) -> None:
    try:
        ended = steps.jobs.get(job_id).state.ended
    except JobNotFound:
        ended = now - made_at(job_id) > ORPHAN_AGE
    if ended:
        steps.fleet.release(job_id)

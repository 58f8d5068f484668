"""The clock's door: what a crash can cut, or silence can hide, is decided here once a second (laptop) or a minute (AWS)."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta

from chalicelib.contracts.job import Cause, Job, JobState, ReasonCode, WorkerState
from chalicelib.domain import lifecycle, object_keys
from chalicelib.domain.errors import FLError, JobCannotGoOn, StillStopping
from chalicelib.domain.job_ids import made_at
from chalicelib.services import training
from chalicelib.services.commit import decide, signal
from chalicelib.services.launch import is_recorded
from chalicelib.services.training import Steps

logger = logging.getLogger("tutti")

ORPHAN_AGE = timedelta(minutes=10)
"""A launch holds its workers for a moment before its job is recorded; a lease older than this without a job is lost."""
WORKFLOW_GRACE = timedelta(seconds=5)
"""How long after the launch a missing execution is started again."""


def tick(steps: Steps, listening_since: datetime | None = None) -> None:
    """Look at every active job and every lease once; what is wrong with one keeps nobody from the others."""
    now = steps.clock.now()
    for job in steps.jobs.active():
        with _looked_after(job.id):
            _look_at(job, now, listening_since, steps)
    for job_id in steps.fleet.holders():
        with _looked_after(job_id):
            _release_orphan(job_id, now, steps)


@contextmanager
def _looked_after(job_id: str) -> Iterator[None]:
    """What is wrong with one job keeps nobody from the others; the next tick looks again."""
    try:
        yield
    except FLError as error:
        logger.warning("a job was not looked at", extra={"job_id": job_id, "why": error.message})


def _look_at(job: Job, now: datetime, listening_since: datetime | None, steps: Steps) -> None:
    workers = tuple(steps.jobs.workers(job.id, job.attempt))
    cause = lifecycle.missed_start(job, workers, now, listening_since)
    if cause is not None:
        job = steps.end(job.id, cause)
    for worker in workers:
        _check_silence(job, worker, now, listening_since, steps)
    signal(None, steps.jobs.get(job.id), workflow=steps.workflow)
    _check_workflow(job, now, steps)


def _check_silence(job: Job, worker: WorkerState, now: datetime, listening_since: datetime | None, steps: Steps) -> None:
    probe = lifecycle.silent(lifecycle.Step(job, worker), now, listening_since)
    if not probe.changes:
        return
    step = decide(
        job.id,
        worker.attempt,
        worker.site,
        lambda step: lifecycle.silent(step, now, listening_since),
        jobs=steps.jobs,
        workflow=steps.workflow,
        clock=steps.clock,
        ids=steps.ids,
    )
    if step.worker.failed is not None and step.worker.handle:
        # Given up, it may run on where nobody hears it, and be paid for until the job is over.
        steps.compute.stop(step.worker.handle)


def _check_workflow(job: Job, now: datetime, steps: Steps) -> None:
    status = steps.workflow.status(job.id)
    if status is None and job.state is JobState.PENDING:
        if now - job.created_at > WORKFLOW_GRACE:
            steps.workflow.start(job.id)
    elif status != "RUNNING":
        _finish_without_workflow(job, status or "it is gone", steps)


def _finish_without_workflow(job: Job, status: str, steps: Steps) -> None:
    """The execution ended without Release having closed the job: close it here."""
    newest = steps.jobs.get(job.id)
    if newest.state.ended:
        return
    if newest.finishing_at is None:
        sentence = f"The job's workflow ended ({status}) before the job was closed."
        steps.end(job.id, Cause(code=ReasonCode.PLATFORM_ERROR, sentence=sentence))
    elif newest.ending is None:
        _collect(job.id, steps)
    try:
        training.release(job.id, steps)
    except StillStopping:
        return  # the next tick asks again


def _collect(job_id: str, steps: Steps) -> None:
    """The model of a job that trained to its end; a model that is not right has decided the job's end when this returns."""
    with suppress(JobCannotGoOn):
        training.collect(job_id, steps)


def _release_orphan(job_id: str, now: datetime, steps: Steps) -> None:
    if not is_recorded(job_id, jobs=steps.jobs):
        if now - made_at(job_id) > ORPHAN_AGE:
            _forget_launch(job_id, steps)
    elif steps.jobs.get(job_id).state.ended:
        steps.fleet.release(job_id)


def forget_cut_launches(steps: Steps) -> None:
    """Give back at once what launches hold whose job was never recorded. Only for a start, while nothing can be launched."""
    for job_id in steps.fleet.holders():
        with _looked_after(job_id):
            if not is_recorded(job_id, jobs=steps.jobs):
                _forget_launch(job_id, steps)


def _forget_launch(job_id: str, steps: Steps) -> None:
    """The lease goes last: it is what leads here again when this is cut too."""
    steps.objects.delete_prefix(steps.settings.platform_bucket, object_keys.run(job_id))
    steps.fleet.release(job_id)
    logger.info("a launch that was cut is forgotten", extra={"job_id": job_id})

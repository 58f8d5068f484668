"""Read, decide, write: one decision applied to a job however many others write at the same time."""

import logging

from chalicelib.contracts.job import Job, StateChanged, WorkerState
from chalicelib.domain.errors import Busy, StaleWrite
from chalicelib.domain.lifecycle import Decision, Step
from chalicelib.ports import Clock, Ids, JobStore, Workflow

logger = logging.getLogger("tutti")

TRIES = 10
"""CONTRACT: a stale write is repeated up to 10 times, then the caller is told to come back."""


def decide(
    job_id: str,
    attempt: int | None,
    site: str,
    decision: Decision,
    *,
    jobs: JobStore,
    workflow: Workflow,
    clock: Clock,
    ids: Ids,
) -> Step:
    """Apply a pure decision to the newest job and worker row, write what changed, and tell the workflow what follows.

    ``attempt`` None means the job's current one. A decision that changes neither the job nor its feed writes the worker row
    alone. After ``TRIES`` lost races: Busy, and nothing was written.
    """
    for turn in range(TRIES):
        before = jobs.get(job_id)
        worker = jobs.worker(job_id, before.attempt if attempt is None else attempt, site)
        after = decision(Step(before, worker))
        try:
            stored = _write(before, worker, after, jobs=jobs, clock=clock)
        except StaleWrite:
            clock.pause((turn + ids.jitter()) * 0.02)
            continue
        _log(stored, after)
        signal(before, stored, workflow=workflow)
        return Step(stored, after.worker, after.changes)
    raise Busy(f"{job_id} is being written by too many at once")


def _write(before: Job, worker: WorkerState, after: Step, *, jobs: JobStore, clock: Clock) -> Job:
    if after.job != before or after.changes or _more_than_heard(worker, after.worker):
        return jobs.commit(after.job, changes=after.changes, workers=(after.worker,), at=clock.now())
    if after.worker != worker:
        jobs.touch(before.id, after.worker)
    return before


_HEARD = ("last_seen", "accepted_seq", "silent_warned")
"""What a heartbeat changes of a worker row; such a change needs no turn at the job row, which 1,000 workers share."""


def _more_than_heard(before: WorkerState, after: WorkerState) -> bool:
    return before.model_copy(update={name: getattr(after, name) for name in _HEARD}) != after


def _log(job: Job, step: Step) -> None:
    for change in step.changes:
        if isinstance(change, StateChanged):
            extra = {"job_id": job.id, "state": change.state.value, "ending": change.ending, "why": change.sentence}
            logger.info("job moved", extra=extra)


def signal(before: Job | None, after: Job, *, workflow: Workflow) -> None:
    """Answer the state machine's waiting tasks when a decision settles them; repeated by the tick, harmless twice."""
    if after.ending is not None:
        if before is None or before.ending is None:
            for token in filter(None, (after.server_token, after.train_token)):
                workflow.fail(token, error=after.ending.code.value, cause=after.ending.sentence[:1000])
        return
    answered = after.train_token is not None  # the machine comes to Train only once StartServer has its answer
    if after.server_joined and after.server_token and not answered and not (before and before.server_joined):
        workflow.succeed(after.server_token)
    if after.finishing_at and after.train_token and not (before and before.finishing_at):
        workflow.succeed(after.train_token)

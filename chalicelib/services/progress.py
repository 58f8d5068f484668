"""What workers report, and what follows: events, exits."""

from chalicelib.contracts.account import WorkerPrincipal
from chalicelib.contracts.job import SERVER, Job
from chalicelib.contracts.worker import Command, EventAnswer, EventBatch
from chalicelib.domain import lifecycle
from chalicelib.domain.errors import JobNotFound, Superseded, WorkerNotFound
from chalicelib.domain.lifecycle import Step
from chalicelib.ports import Clock, Ids, JobStore, WorkerExit, Workflow
from chalicelib.services.commit import decide
from chalicelib.settings import Settings


def take_events(
    batch: EventBatch,
    worker: WorkerPrincipal,
    *,
    jobs: JobStore,
    workflow: Workflow,
    clock: Clock,
    ids: Ids,
    settings: Settings,
) -> EventAnswer:
    """Store the events not stored yet, in order; a batch that leaves a gap is not taken and the answer says from where to resend.

    A worker of an earlier attempt: Superseded.
    """
    _check_attempt(jobs.get(worker.job_id), batch.attempt, worker)

    def accept(step: Step) -> Step:
        if batch.seq > step.worker.accepted_seq + 1:
            return step
        now, changes = clock.now(), step.changes
        for number, event in enumerate(batch.events, start=batch.seq):
            step = lifecycle.accept(step.job, step.worker, number, event, now)
            changes += step.changes
        return Step(step.job, step.worker, changes)

    step = decide(worker.job_id, batch.attempt, worker.site, accept, jobs=jobs, workflow=workflow, clock=clock, ids=ids)
    if worker.site == SERVER and step.job.train_token and step.job.ending is None and step.job.finishing_at is None:
        workflow.heartbeat(step.job.train_token)
    return EventAnswer(accepted_seq=step.worker.accepted_seq, commands=_commands(step.job), next_in_ms=_pace(step.job, settings))


def _check_attempt(job: Job, attempt: int, worker: WorkerPrincipal) -> None:
    if attempt < job.attempt or worker.attempt < job.attempt:
        raise Superseded(f"attempt {attempt} of {job.id} was replaced by attempt {job.attempt}")


def _commands(job: Job) -> tuple[Command, ...]:
    return (Command.STOP,) if job.ending is not None or job.state.ended else ()


def _pace(job: Job, settings: Settings) -> int:
    """Milliseconds until the next batch: the more workers, the slower, so that 1,000 make 50 batches a second together."""
    return max(settings.worker_poll_ms, job.workers * 20)


def worker_exited(exit_: WorkerExit, *, jobs: JobStore, workflow: Workflow, clock: Clock, ids: Ids) -> None:
    """Note that a worker's process is gone; one that had not finished is lost. Silent for jobs and workers unknown."""
    try:
        decide(
            exit_.job_id,
            exit_.attempt,
            exit_.site,
            lambda step: lifecycle.exited(step, exit_.status, out_of_memory=exit_.out_of_memory),
            jobs=jobs,
            workflow=workflow,
            clock=clock,
            ids=ids,
        )
    except (JobNotFound, WorkerNotFound):
        return

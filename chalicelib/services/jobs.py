"""A user's jobs: show, list, follow, cancel."""

from collections.abc import Sequence

from chalicelib.contracts.account import Principal
from chalicelib.contracts.job import (
    SERVER,
    Cause,
    FeedItem,
    Job,
    JobState,
    JobView,
    LiveView,
    LogSegmentStored,
    Metrics,
    PhaseChanged,
    ReasonCode,
    Warned,
    WorkerState,
    WorkerView,
)
from chalicelib.contracts.results import JobViews
from chalicelib.domain import lifecycle
from chalicelib.domain.errors import JobNotFound
from chalicelib.domain.lifecycle import Step
from chalicelib.ports import Clock, Ids, JobStore, Workflow
from chalicelib.services.commit import decide

LIVE_PAGE = 500


def own_job(user: Principal, job_id: str, *, jobs: JobStore) -> Job:
    """The user's job; someone else's is as absent as one that never was."""
    job = jobs.get(job_id)
    if job.owner != user.user:
        raise JobNotFound(f"there is no job {job_id}")
    return job


def view(job: Job) -> JobView:
    """A job as its owner sees it."""
    return JobView.model_validate(job.model_dump())


def list_jobs(user: Principal, *, cursor: str | None, workspace: str | None, jobs: JobStore) -> JobViews:
    """One page of the user's jobs, newest first."""
    page = jobs.list(user.user, cursor=cursor, workspace=workspace)
    return JobViews(jobs=tuple(view(job) for job in page.jobs), cursor=page.cursor)


def follow(user: Principal, job_id: str, after: int, *, jobs: JobStore) -> LiveView:
    """What changed after a number: the job, the workers it concerns, and the numbered changes. Nothing new: almost nothing."""
    job = own_job(user, job_id, jobs=jobs)
    if after >= job.seq:
        return LiveView(seq=job.seq, next_in_ms=_pace(job))
    feed = tuple(jobs.feed(job_id, after=after, limit=LIVE_PAGE))
    seq = feed[-1].seq if feed else job.seq
    more = seq < job.seq
    workers = _concerned(feed, jobs.workers(job_id, job.attempt), everyone=after == 0)
    return LiveView(seq=seq, job=view(job), workers=workers, feed=feed, more=more, next_in_ms=0 if more else _pace(job))


def _concerned(feed: Sequence[FeedItem], workers: Sequence[WorkerState], *, everyone: bool) -> tuple[WorkerView, ...]:
    named = {_site(item) for item in feed}
    return tuple(_worker_view(worker) for worker in workers if everyone or worker.site in named)


def _worker_view(worker: WorkerState) -> WorkerView:
    """Without the lines of evidence: the job's reason shows those that matter, and 1,000 workers may have some."""
    failed = worker.failed.model_copy(update={"evidence": ()}) if worker.failed else None
    return WorkerView.model_validate(worker.model_copy(update={"failed": failed}).model_dump())


def _site(item: FeedItem) -> str | None:
    match item.change:
        case PhaseChanged(site=site) | Metrics(site=site) | Warned(site=site):
            return site
        case LogSegmentStored(source=source):
            return source
    return SERVER


def _pace(job: Job) -> int | None:
    if job.state.ended:
        return None
    return 1000 if job.state is JobState.PENDING or job.ending else 1500


def cancel(user: Principal, job_id: str, *, jobs: JobStore, workflow: Workflow, clock: Clock, ids: Ids) -> Job:
    """Ask the job to end: its workers are told at their next call, and stopped. A job that has ended, or whose model is being
    collected, stays as it is."""
    own_job(user, job_id, jobs=jobs)

    def ask(step: Step) -> Step:
        if step.job.state.ended or step.job.finishing_at is not None or step.job.ending is not None:
            return step
        asked = step.job.model_copy(update={"cancel_requested": True})
        cause = Cause(code=ReasonCode.CANCELLED_BY_USER, sentence="You cancelled the job.")
        job, changes = lifecycle.end(asked, cause)
        return step.then(*changes, job=job)

    return decide(job_id, None, SERVER, ask, jobs=jobs, workflow=workflow, clock=clock, ids=ids).job

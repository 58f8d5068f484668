"""What a job becomes when something happens to it: pure, and legal for events in any order and any number.

``Step`` is the answer of every decision here: the job, the worker row that changed, and the changes to number.
A job that has ended, or whose end is decided, takes no other reason.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice

from chalicelib.contracts.job import (
    SERVER,
    Cause,
    Change,
    Job,
    JobState,
    LogSegmentStored,
    Metrics,
    Phase,
    PhaseChanged,
    Reason,
    ReasonCode,
    RoundEnded,
    RoundStarted,
    StateChanged,
    Warned,
    WorkerState,
)
from chalicelib.contracts.worker import (
    FailedEvent,
    FinishedEvent,
    HeartbeatEvent,
    JoinedEvent,
    LogSegmentEvent,
    PhaseEvent,
    ProgressEvent,
    RoundDoneEvent,
    RoundStartedEvent,
    StuckEvent,
    ValidatedEvent,
    WarningEvent,
    WorkerEvent,
)
from chalicelib.domain import causes, object_keys, symptoms


@dataclass(frozen=True)
class Step:
    """One decision: the job and worker as they are now, and the changes to number, in order."""

    job: Job
    worker: WorkerState
    changes: tuple[Change, ...] = field(default=())

    def then(self, *changes: Change, job: Job | None = None, worker: WorkerState | None = None) -> "Step":
        """This step with more on top of it."""
        return replace(self, job=job or self.job, worker=worker or self.worker, changes=self.changes + changes)


Decision = Callable[[Step], Step]
"""A pure decision about a job and one of its workers."""
Question = Callable[[Job], bool]


def accept(job: Job, worker: WorkerState, number: int, event: WorkerEvent, now: datetime) -> Step:
    """Take event ``number`` of a worker. A number already accepted only tells that the worker is heard of."""
    step = _heard(Step(job, worker), now)
    if number <= worker.accepted_seq:
        return step
    seen = step.worker.model_copy(update={"accepted_seq": number})
    if job.state.ended:
        return step.then(worker=seen)
    if not isinstance(event, _SAYS_NOTHING_OF_PROGRESS):
        seen = seen.model_copy(update={"stuck_since": None})
    return _apply(step.then(worker=seen), event, now)


def _heard(step: Step, now: datetime) -> Step:
    """A worker that was warned about as silent says so itself when it is back: nobody else would take the warning away."""
    worker = step.worker.model_copy(update={"last_seen": now, "silent_warned": False})
    if not step.worker.silent_warned or step.job.state.ended:
        return step.then(worker=worker)
    return step.then(PhaseChanged(site=worker.site, phase=worker.phase, detail="heard again"), worker=worker)


_SAYS_NOTHING_OF_PROGRESS = (HeartbeatEvent, LogSegmentEvent, WarningEvent, StuckEvent)


def _apply(step: Step, event: WorkerEvent, now: datetime) -> Step:  # noqa: PLR0912 - one branch per kind of event
    match event:
        case HeartbeatEvent():
            return step
        case PhaseEvent():
            return _phase(step, event)
        case ProgressEvent():
            return _progress(step, event)
        case JoinedEvent():
            return _joined(step, event, now)
        case LogSegmentEvent():
            return _log(step, event)
        case WarningEvent():
            return step.then(Warned(code=event.code, sentence=event.sentence, site=step.worker.site))
        case StuckEvent():
            return _stuck(step, event, now)
        case FinishedEvent():
            return _finished(step, event, now)
        case FailedEvent():
            return _failed(step, event.cause)
    if step.worker.site != SERVER:
        return step  # rounds are the server's to tell; a worker that tells them is not believed
    match event:
        case RoundStartedEvent():
            return _round_started(step, event)
        case RoundDoneEvent():
            return _round_done(step, event)
        case ValidatedEvent():
            return _validated(step, event)


def _phase(step: Step, event: PhaseEvent) -> Step:
    if step.worker.done or step.worker.failed:
        return step
    before = step.worker
    update = {"phase": event.phase, "round": event.round if event.round is not None else before.round}
    if event.phase is Phase.TRAINING:
        update |= {"step": None, "of": None}
    worker = before.model_copy(update=update)
    if (before.phase, before.round) == (worker.phase, worker.round) and not event.detail:
        return step.then(worker=worker)
    return step.then(PhaseChanged(site=worker.site, phase=event.phase, detail=event.detail), worker=worker)


_MOST_NAMED = 5
_MOST_NUMBERS = 200
"""Metrics kept of one worker in one event: a job's feed must stay readable whatever user code logs."""


def _numbers(values: Mapping[str, float | None]) -> dict[str, float | None]:
    return {name[:120]: value for name, value in islice(values.items(), _MOST_NUMBERS)}


def _progress(step: Step, event: ProgressEvent) -> Step:
    at = {"round": event.round, "step": event.step, "of": event.of}
    worker = step.worker.model_copy(update=at)
    change = Metrics(site=worker.site, source="progress", values=_numbers(event.metrics), **at)
    return step.then(change, worker=worker)


def _joined(step: Step, event: JoinedEvent, now: datetime) -> Step:
    if step.worker.joined:
        return step
    told = step.worker.phase is Phase.JOINED
    worker = step.worker.model_copy(update={"joined": True, "phase": Phase.JOINED})
    if worker.site == SERVER:
        job = step.job.model_copy(update={"server_joined": True, "server_address": event.address})
    else:
        job = step.job.model_copy(update={"joined": step.job.joined + 1})
    news = () if told else (PhaseChanged(site=worker.site, phase=Phase.JOINED),)
    step = step.then(*news, job=job, worker=worker)
    if job.state is JobState.PENDING and job.server_joined and job.joined >= job.workers and job.ending is None:
        running = job.model_copy(update={"state": JobState.RUNNING, "running_at": now})
        return step.then(StateChanged(state=JobState.RUNNING, sentence="All workers have joined."), job=running)
    return step


def _log(step: Step, event: LogSegmentEvent) -> Step:
    site, attempt = step.worker.site, step.worker.attempt
    key = object_keys.log_segment(step.job.workspace, step.job.id, attempt, site, event.number)
    return step.then(
        LogSegmentStored(source=site, attempt=attempt, number=event.number, key=key, lines=event.lines, bytes=event.bytes)
    )


def _stuck(step: Step, event: StuckEvent, now: datetime) -> Step:
    """A live worker that does not move is shown and counted, and nothing else: its work may just take long."""
    since = None if event.quiet_s is None else now - timedelta(seconds=max(0.0, event.quiet_s))
    worker = step.worker.model_copy(update={"stuck_since": since})
    if since is None:
        return step.then(PhaseChanged(site=worker.site, phase=worker.phase, detail="moves again"), worker=worker)
    sentence, place = event.sentence[:1000], {"file": event.file, "line": event.line, "evidence": event.evidence}
    cause = Cause(code=ReasonCode.ROUND_TIMED_OUT, sentence=sentence, site=worker.site, round=worker.round, **place)
    job = step.job.model_copy(update={"stuck": causes.trimmed(cause)})
    return step.then(Warned(code="worker_stuck", sentence=sentence, site=worker.site), job=job, worker=worker)


def _round_started(step: Step, event: RoundStartedEvent) -> Step:
    if event.round >= step.job.rounds or (step.job.round is not None and event.round <= step.job.round):
        return step
    return step.then(RoundStarted(round=event.round), job=step.job.model_copy(update={"round": event.round}))


def _round_done(step: Step, event: RoundDoneEvent) -> Step:
    if not step.job.rounds_done <= event.round < step.job.rounds:
        return step
    means = _means(event)
    job = step.job.model_copy(update={"rounds_done": event.round + 1, "round": event.round, "loss": means.values.get("loss")})
    rows: list[Change] = [
        Metrics(site=site, round=event.round, source="train", values=_numbers(result.metrics), samples=result.samples)
        for site, result in event.sites.items()
        if result.accepted
    ]
    accepted = tuple(site for site, result in event.sites.items() if result.accepted)
    refused = {
        site: result.refused.sentence if result.refused else "no answer"
        for site, result in event.sites.items()
        if not result.accepted
    }
    ended = RoundEnded(round=event.round, accepted=accepted, refused=refused, seconds=event.seconds)
    return step.then(*rows, means, ended, *_gaps(event), job=job)


def _gaps(event: RoundDoneEvent) -> tuple[Warned, ...]:
    """The mark of a round in which a loss or another number was NaN or infinite: the chart has a gap there."""
    numbers = ((site, *number) for site, result in event.sites.items() for number in result.metrics.items())
    found = [f"{name} of {site}" for site, name, value in numbers if value is None]
    if not found:
        return ()
    told = ", ".join(found[:_MOST_NAMED]) + (f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else "")
    return (Warned(code="metric_not_finite", sentence=f"Round {event.round + 1}: {told} was not a finite number."[:1000]),)


def _means(event: RoundDoneEvent) -> Metrics:
    """Each metric's mean over the accepted workers that gave it, weighted by their samples."""
    sums: dict[str, tuple[float, float]] = {}
    for result in event.sites.values():
        if not result.accepted or not result.samples:
            continue
        for name, value in result.metrics.items():
            if value is not None:
                total, weight = sums.get(name, (0.0, 0.0))
                sums[name] = (total + value * result.samples, weight + result.samples)
    values: dict[str, float | None] = {name: total / weight for name, (total, weight) in sums.items()}
    samples = sum(r.samples or 0 for r in event.sites.values() if r.accepted)
    return Metrics(site=SERVER, round=event.round, source="train", values=values, samples=samples)


def _validated(step: Step, event: ValidatedEvent) -> Step:
    rows = ((site, _numbers(values)) for site, values in event.sites.items())
    return step.then(*(Metrics(site=site, round=event.round, source="validate", values=values) for site, values in rows))


def _finished(step: Step, event: FinishedEvent, now: datetime) -> Step:
    told = step.worker.phase is Phase.DONE
    worker = step.worker.model_copy(update={"done": True, "phase": Phase.DONE})
    step = step.then(*(() if told else (PhaseChanged(site=worker.site, phase=Phase.DONE),)), worker=worker)
    if worker.site != SERVER or step.job.ending is not None or step.job.finishing_at is not None:
        return step
    if step.job.rounds_done < step.job.rounds:
        sentence = f"The server reported the end after {step.job.rounds_done} of {step.job.rounds} rounds."
        return _end(step, Cause(code=ReasonCode.MODEL_INVALID, sentence=sentence, site=SERVER))
    key = object_keys.job_model(step.job.workspace, step.job.id)
    job = step.job.model_copy(update={"model_key": key, "model_size": event.model_size, "finishing_at": now})
    return step.then(job=job)


def _failed(step: Step, cause: Cause) -> Step:
    cause = causes.trimmed(cause)
    if step.worker.failed or step.worker.done or step.job.state.ended:
        return step
    if causes.MEANINGS[cause.code].state is not JobState.FAILED:
        cause = cause.model_copy(update={"code": ReasonCode.PLATFORM_ERROR})  # a failure cannot claim a good end
    if step.worker.site != SERVER:
        own = {"site": cause.site or step.worker.site, "round": step.worker.round if cause.round is None else cause.round}
        cause = cause.model_copy(update=own)
    cause = symptoms.diagnosed(cause)
    worker = step.worker.model_copy(update={"failed": cause, "phase": Phase.DONE})
    step = step.then(PhaseChanged(site=worker.site, phase=Phase.DONE, detail=cause.sentence), worker=worker)
    if worker.site == SERVER:
        return _end(step, _server_cause(step.job, cause))
    job = step.job.model_copy(update={"lost": step.job.lost + 1, "first_cause": step.job.first_cause or cause})
    step = step.then(job=job)
    if job.finishing_at is not None:
        return step
    if job.state is JobState.PENDING or job.workers - job.lost < job.minimum:
        return _end(step, job.first_cause or cause)
    sentence = f"{worker.site} was lost ({cause.sentence}); the job goes on with {job.workers - job.lost} workers."
    return step.then(Warned(code="worker_lost", sentence=sentence, site=worker.site))


_CONSEQUENCES = frozenset({ReasonCode.BELOW_MINIMUM, ReasonCode.SERVER_LOST, ReasonCode.MODEL_INVALID})
"""What a server says when something else went wrong first."""


def _server_cause(job: Job, cause: Cause) -> Cause:
    if cause.code in _CONSEQUENCES and job.first_cause is not None:
        return job.first_cause
    if cause.code is ReasonCode.ROUND_TIMED_OUT and job.stuck is not None and job.stuck.site == cause.site:
        known = {"file": job.stuck.file, "line": job.stuck.line, "evidence": job.stuck.evidence}
        return cause.model_copy(update={**known, "sentence": f"{cause.sentence}: {job.stuck.sentence}"})
    return cause


def end(job: Job, cause: Cause) -> tuple[Job, tuple[Change, ...]]:
    """Decide the job's end, unless it is decided or over already; who is still working will be stopped."""
    step = _end(Step(job, WorkerState(site=SERVER, attempt=job.attempt)), cause)
    return step.job, step.changes


def _end(step: Step, cause: Cause) -> Step:
    if step.job.state.ended or step.job.ending is not None:
        return step
    reason = causes.reason_for(cause)
    job = step.job.model_copy(update={"ending": reason, "first_cause": step.job.first_cause or cause})
    return step.then(StateChanged(state=job.state, ending=True, sentence=reason.sentence), job=job)


def exited(step: Step, status: int | None, *, out_of_memory: bool) -> Step:
    """A worker's process is gone. One that had not said goodbye is lost, and named; once the job is being released, that is as
    asked."""
    worker, job = step.worker.model_copy(update={"exited": True}), step.job
    step = step.then(worker=worker)
    if worker.done or worker.failed or job.state.ended or job.ending is not None or job.finishing_at is not None:
        return step
    return _failed(step, _exit_cause(worker, status, out_of_memory))


def _exit_cause(worker: WorkerState, status: int | None, out_of_memory: bool) -> Cause:
    if out_of_memory:
        sentence = f"{worker.site} used more memory than its machine has and was ended by the system."
        return Cause(code=ReasonCode.OUT_OF_MEMORY, sentence=sentence, site=worker.site, round=worker.round)
    how = "without a word" if status is None else f"by signal {-status}" if status < 0 else f"with exit status {status}"
    sentence = f"The process of {worker.site} ended {how} while {worker.phase.value}."
    code = ReasonCode.SERVER_LOST if worker.site == SERVER and status is None else ReasonCode.PROCESS_KILLED
    return Cause(code=code, sentence=sentence, site=worker.site, round=worker.round)


def silent(step: Step, now: datetime, listening_since: datetime | None = None) -> Step:
    """A worker that has been silent for longer than the heartbeat timeout is lost; after a third of it, warned about."""
    worker, job = step.worker, step.job
    if worker.done or worker.failed or worker.exited or worker.last_seen is None or job.ending is not None:
        return step
    heard = max(worker.last_seen, listening_since or worker.last_seen)
    quiet = (now - heard).total_seconds()
    if quiet > job.heartbeat_timeout_s:
        sentence = f"{worker.site} has been silent for {int(quiet)} s (the limit is {job.heartbeat_timeout_s} s)."
        return _failed(step, Cause(code=ReasonCode.WORKER_SILENT, sentence=sentence, site=worker.site))
    if quiet > max(15.0, job.heartbeat_timeout_s / 3) and not worker.silent_warned:
        warned = worker.model_copy(update={"silent_warned": True})
        sentence = f"{worker.site} has been silent for {int(quiet)} s; it is lost after {job.heartbeat_timeout_s} s."
        return step.then(Warned(code="worker_silent", sentence=sentence, site=worker.site), worker=warned)
    return step


def missed_start(
    job: Job, workers: tuple[WorkerState, ...], now: datetime, listening_since: datetime | None = None
) -> Cause | None:
    """Why a PENDING job is over at its start deadline: the first missing worker and what it last did. The time in which nobody
    could be started, because nobody was there to do it, does not count."""
    patience = job.start_deadline - job.created_at
    waited = now - max(job.created_at, listening_since or job.created_at)
    if job.state is not JobState.PENDING or job.ending is not None or waited < patience:
        return None
    missing = next((w for w in workers if not w.joined), None)
    if missing is None:
        return None
    did = "was never heard of" if missing.last_seen is None else f"was last seen {missing.phase.value}"
    sentence = f"{missing.site} had not joined after {int(patience.total_seconds())} s; it {did}."
    return Cause(code=ReasonCode.WORKER_NOT_JOINED, sentence=sentence, site=missing.site)


def close(job: Job, now: datetime) -> tuple[Job, tuple[Change, ...]]:
    """The last step: workers are gone and leases given back, so the job takes its final state and reason."""
    if job.state.ended:
        return job, ()
    reason = job.ending or causes.reason_for(_last_word(job))
    state = causes.state_for(reason)
    ended = job.model_copy(
        update={
            "state": state,
            "reason": reason,
            "ending": None,
            "ended_at": now,
            "server_token": None,
            "train_token": None,
        }
    )
    return ended, (StateChanged(state=state, sentence=reason.sentence),)


def _last_word(job: Job) -> Cause:
    if job.finishing_at is None:
        sentence = "The job was closed before its server had reported the end of training."
        return Cause(code=ReasonCode.PLATFORM_ERROR, sentence=sentence)
    sentence = f"All {job.rounds_done} rounds are done; the model is saved."
    return Cause(code=ReasonCode.COMPLETED, sentence=sentence)


def is_legal(job: Job) -> bool:
    """Whether a job's fields agree with one another; held for every sequence of events by a property test."""
    return (
        (job.state.ended == (job.reason is not None))
        and (job.state is not JobState.RUNNING or job.running_at is not None)
        and 0 <= job.joined <= job.workers
        and 0 <= job.lost <= job.workers
        and job.rounds_done <= job.rounds
        and (job.state is not JobState.FINISHED or job.finishing_at is not None)
        and _reason_fits(job.state, job.reason)
    )


def _reason_fits(state: JobState, reason: Reason | None) -> bool:
    return reason is None or causes.state_for(reason) is state

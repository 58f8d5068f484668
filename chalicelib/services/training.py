"""The steps of the state machine: prepare, start the server, start a worker, train, collect, release, fail."""

import json
import logging
from dataclasses import dataclass
from datetime import timedelta

from chalicelib.contracts.account import WorkerPrincipal
from chalicelib.contracts.job import SERVER, Cause, Job, ReasonCode, Shard
from chalicelib.contracts.worker import Role
from chalicelib.domain import lifecycle, object_keys
from chalicelib.domain.errors import FLError, JobCannotGoOn, ObjectNotFound, StillStopping
from chalicelib.domain.launch import LaunchRecord
from chalicelib.domain.lifecycle import Step
from chalicelib.domain.threads import worker_threads
from chalicelib.ports import (
    AccountStore,
    Clock,
    Compute,
    Fleet,
    Ids,
    JobStore,
    ObjectStore,
    WorkerSpec,
    Workflow,
)
from chalicelib.services.account import WORKER_PREFIX, hashed
from chalicelib.services.commit import decide
from chalicelib.services.launch import read_record
from chalicelib.services.results import write_metrics
from chalicelib.settings import Settings

logger = logging.getLogger("tutti")

HEARTBEAT_SLACK = timedelta(minutes=1)
"""How much longer the state machine waits for a heartbeat than the platform itself does: it is only the backstop."""


@dataclass(frozen=True)
class Steps:
    """The ports that the state machine's steps share."""

    jobs: JobStore
    objects: ObjectStore
    accounts: AccountStore
    fleet: Fleet
    compute: Compute
    workflow: Workflow
    clock: Clock
    ids: Ids
    settings: Settings

    def decide(self, job_id: str, site: str, decision: lifecycle.Decision) -> Step:
        """Apply a decision to the job's current attempt."""
        return decide(job_id, None, site, decision, jobs=self.jobs, workflow=self.workflow, clock=self.clock, ids=self.ids)

    def end(self, job_id: str, cause: Cause) -> Job:
        """Decide the job's end unless it is decided already."""

        def ending(step: Step) -> Step:
            job, changes = lifecycle.end(step.job, cause)
            return step.then(*changes, job=job)

        return self.decide(job_id, SERVER, ending).job


def prepare(job_id: str, steps: Steps) -> dict[str, object]:
    """Pin every shard to its exact version; the sites to start. A shard that changed since the launch ends the job."""
    job = _going_on(steps.jobs.get(job_id))
    record = read_record(job_id, objects=steps.objects, settings=steps.settings)
    pinned = LaunchRecord(shards=tuple(_pin(job, shard, steps) for shard in record.shards), checkpoint=record.checkpoint)
    key = object_keys.launch_record(job_id)
    steps.objects.put(steps.settings.platform_bucket, key, pinned.model_dump_json().encode())
    start = job.start_deadline - job.created_at + HEARTBEAT_SLACK  # whole: the job may have waited for a platform that was away
    return {
        "sites": [shard.site for shard in pinned.shards],
        "heartbeat_s": job.heartbeat_timeout_s + int(HEARTBEAT_SLACK.total_seconds()),
        "start_s": int(start.total_seconds()),
    }


def _pin(job: Job, shard: Shard, steps: Steps) -> Shard:
    try:
        info = steps.objects.head(job.bucket, shard.key)
    except ObjectNotFound:
        info = None
    if info is None or info.etag != shard.etag:
        what = "is gone" if info is None else "was replaced"
        sentence = f"{shard.name} {what} between the launch and the start."
        cause = Cause(code=ReasonCode.SHARD_INVALID, sentence=sentence, site=shard.site, file=f"shards/{shard.name}")
        steps.end(job.id, cause)
        raise JobCannotGoOn(sentence)
    return shard.model_copy(update={"version": info.version})


def _going_on(job: Job) -> Job:
    if job.ending is not None or job.state.ended:
        reason = job.ending or job.reason
        raise JobCannotGoOn(reason.sentence if reason else f"{job.id} has ended")
    return job


def start_server(job_id: str, token: str, steps: Steps) -> None:
    """Start the central server; its Joined event answers the token."""

    def wait(step: Step) -> Step:
        return step.then(job=step.job.model_copy(update={"server_token": token}))

    job = _await(job_id, wait, steps, token, answered=lambda job: job.server_joined)
    if job is not None:
        _start(job, SERVER, Role.SERVER, steps)


def start_worker(job_id: str, site: str, steps: Steps) -> None:
    """Start one worker and return at once."""
    _start(_going_on(steps.jobs.get(job_id)), site, Role.CLIENT, steps)


def train(job_id: str, token: str, steps: Steps) -> None:
    """Wait for the end of training; the server's Finished event answers the token."""

    def wait(step: Step) -> Step:
        return step.then(job=step.job.model_copy(update={"train_token": token}))

    _await(job_id, wait, steps, token, answered=lambda job: job.finishing_at is not None)


def _await(job_id: str, wait: lifecycle.Decision, steps: Steps, token: str, *, answered: lifecycle.Question) -> Job | None:
    """Store the token; answer it at once when what it waits for has happened already, and None then."""
    job = steps.decide(job_id, SERVER, wait).job
    if job.ending is not None or job.state.ended:
        steps.workflow.fail(token, error="JobCannotGoOn", cause="the job's end is decided")
        return None
    if answered(job):
        steps.workflow.succeed(token)
        return None
    return job


def _start(job: Job, site: str, role: Role, steps: Steps) -> None:
    code = WORKER_PREFIX + steps.ids.secret()
    principal = WorkerPrincipal(job_id=job.id, attempt=job.attempt, site=site, role=role.value)
    steps.accounts.add_worker_code(hashed(code), principal)
    threads = worker_threads(job.workers, steps.settings.shared_cores)
    spec = WorkerSpec(job_id=job.id, attempt=job.attempt, site=site, role=role, code=code, gpu_type=job.gpu_type, threads=threads)
    handle = steps.compute.start(spec)
    now = steps.clock.now()

    def started(step: Step) -> Step:
        seen = step.worker.last_seen or now
        return step.then(worker=step.worker.model_copy(update={"handle": handle, "last_seen": seen}))

    after = steps.decide(job.id, site, started).job
    if after.ending is not None or after.state.ended:  # decided while the worker was being started
        steps.compute.stop(handle)


def collect(job_id: str, steps: Steps) -> None:
    """The model is there: copy it to where users look first, and write metrics.json. No model ends the job FAILED."""
    job = _going_on(steps.jobs.get(job_id))
    try:
        size = steps.objects.head(job.bucket, object_keys.job_model(job.workspace, job.id)).size
    except ObjectNotFound:
        size = None
    if size is None or size == 0 or size != job.model_size:
        found = "no model" if size is None else f"one of {size} bytes in place of {job.model_size}"
        sentence = f"The server reported the end of training, but {found} is in model_out/."
        steps.end(job_id, Cause(code=ReasonCode.MODEL_INVALID, sentence=sentence, site=SERVER))
        raise JobCannotGoOn(sentence)
    newest = object_keys.newest_model(job.workspace)
    steps.objects.copy(job.bucket, object_keys.job_model(job.workspace, job.id), to_key=newest)


def fail(job_id: str, error: str, cause: str, steps: Steps) -> None:
    """Decide the end when nothing else has: the state machine saw an error that no worker reported."""
    steps.end(job_id, _machine_cause(error, cause))


def _machine_cause(error: str, detail: str) -> Cause:
    if error == "States.HeartbeatTimeout":
        return Cause(code=ReasonCode.SERVER_LOST, sentence="The central server was lost: no heartbeat.", site=SERVER)
    if error == "States.Timeout":
        sentence = "The central server had not joined at the start deadline."
        return Cause(code=ReasonCode.WORKER_NOT_JOINED, sentence=sentence, site=SERVER)
    sentence = f"A step of the platform failed ({error})."
    return Cause(code=ReasonCode.PLATFORM_ERROR, sentence=sentence, evidence=tuple(_readable(detail).splitlines()[-40:]))


def _readable(detail: str) -> str:
    """The message inside Lambda's error JSON, else the text itself."""
    try:
        document = json.loads(detail)
    except ValueError:
        return detail
    return str(document.get("errorMessage", detail)) if isinstance(document, dict) else detail


def release(job_id: str, steps: Steps) -> str:
    """Stop every worker, give back what was held, and close the job; the state it ended in. StillStopping: ask again."""
    job = steps.jobs.get(job_id)
    workers = steps.jobs.workers(job_id, job.attempt)
    handles = sorted({worker.handle for worker in workers if worker.handle} | set(steps.compute.handles(job_id)))
    leaving = [handle for handle in handles if not steps.compute.gone(handle)]
    for handle in leaving:
        steps.compute.stop(handle)
    if leaving:
        raise StillStopping(f"{len(leaving)} of {len(handles)} workers of {job_id} are still there")
    steps.objects.delete_prefix(steps.settings.platform_bucket, object_keys.kits(job_id))
    steps.accounts.revoke_workers(job_id)
    steps.fleet.release(job_id)
    try:
        write_metrics(job, jobs=steps.jobs, objects=steps.objects)
    except FLError as error:  # the job has ended all the same; its numbers are in the feed
        logger.warning("metrics.json was not written", extra={"job_id": job_id, "why": error.message})

    def close(step: Step) -> Step:
        closed, changes = lifecycle.close(step.job, steps.clock.now())
        return step.then(*changes, job=closed)

    return steps.decide(job_id, SERVER, close).job.state.value

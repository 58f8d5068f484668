"""Launch: from a clean workspace to a recorded job whose workflow runs; and what was launched."""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

from chalicelib.contracts.account import Principal
from chalicelib.contracts.files import ObjectInfo
from chalicelib.contracts.job import (
    SERVER,
    Checkpoint,
    Job,
    JobState,
    Launched,
    LaunchRequest,
    Shard,
    WorkerState,
)
from chalicelib.contracts.offers import Lease
from chalicelib.contracts.report import Report
from chalicelib.contracts.worker import MODEL_LIMIT
from chalicelib.domain import object_keys
from chalicelib.domain.errors import (
    FLError,
    InvalidRequest,
    JobNotFound,
    NoCapacity,
    ReportHasErrors,
    WorkspaceBusy,
    WorkspaceNotFound,
)
from chalicelib.domain.flare_config import differences, launched_copy
from chalicelib.domain.flare_facts import Facts, read_facts
from chalicelib.domain.launch import LaunchRecord, freeze_shards, heartbeat_limit
from chalicelib.domain.money import total_per_hour
from chalicelib.domain.snapshot import WorkspaceSnapshot
from chalicelib.domain.workspaces import minimum_workers
from chalicelib.job_scripts.sources import sources
from chalicelib.ports import AccountStore, Clock, Fleet, Ids, JobStore, ObjectStore, ReportStore, Workflow
from chalicelib.services import validation
from chalicelib.services.account import bucket_name
from chalicelib.settings import Settings


def launch_job(
    wish: LaunchRequest,
    user: Principal,
    *,
    jobs: JobStore,
    objects: ObjectStore,
    accounts: AccountStore,
    reports: ReportStore,
    fleet: Fleet,
    workflow: Workflow,
    clock: Clock,
    ids: Ids,
    settings: Settings,
) -> Job:
    """Record a job for a clean workspace, hold its workers, and start its workflow; the same token again gives the same job."""
    content = hashlib.sha256(wish.model_dump_json().encode()).hexdigest()
    job = jobs.by_token(user.user, wish.client_token, content)
    try:
        if job is None:
            job = _record(
                wish,
                user,
                content,
                jobs=jobs,
                objects=objects,
                accounts=accounts,
                reports=reports,
                fleet=fleet,
                clock=clock,
                ids=ids,
                settings=settings,
            )
    except (WorkspaceBusy, NoCapacity):
        job = jobs.by_token(user.user, wish.client_token, content)
        if job is None:
            raise
    workflow.start(job.id)
    return job


def _record(
    wish: LaunchRequest,
    user: Principal,
    content: str,
    *,
    jobs: JobStore,
    objects: ObjectStore,
    accounts: AccountStore,
    reports: ReportStore,
    fleet: Fleet,
    clock: Clock,
    ids: Ids,
    settings: Settings,
) -> Job:
    """The job as recorded, its workers held; or the one that the same launch, asked for at the same moment, has recorded."""
    bucket = bucket_name(user, accounts=accounts)
    snapshot, report = validation.check_now(
        user.user, wish.workspace, bucket=bucket, objects=objects, reports=reports, clock=clock
    )
    _check_launchable(wish, user, snapshot, report, jobs=jobs)
    job_id = ids.job_id()
    record = LaunchRecord(
        shards=freeze_shards(snapshot.shards),
        checkpoint=_checkpoint(wish, snapshot, bucket, objects=objects),
    )
    files = _launched_files(snapshot, job_id, record)
    try:
        leases = fleet.reserve(job_id, wish.requirements, len(record.shards))
        _store_run(job_id, record, files, snapshot, objects=objects, settings=settings)
        job = _new_job(job_id, wish, user, bucket, read_facts(snapshot.texts), leases, clock=clock, settings=settings)
        stored = jobs.add(job, client_token=wish.client_token, content=content, workers=_rows(record.shards))
    except Exception:
        if not is_recorded(job_id, jobs=jobs):  # it may be: an answer can be lost after the job was written
            _take_back(job_id, objects=objects, fleet=fleet, settings=settings)
        raise
    if stored.id != job_id:
        _take_back(job_id, objects=objects, fleet=fleet, settings=settings)
    return stored


def is_recorded(job_id: str, *, jobs: JobStore) -> bool:
    """Whether a launch got as far as recording its job."""
    try:
        jobs.get(job_id)
    except JobNotFound:
        return False
    return True


def _take_back(job_id: str, *, objects: ObjectStore, fleet: Fleet, settings: Settings) -> None:
    """The machines whatever happens: a few files that stay behind cost nothing, and must not hide why the launch failed."""
    with suppress(FLError):
        objects.delete_prefix(settings.platform_bucket, object_keys.run(job_id))
    fleet.release(job_id)


def _check_launchable(
    wish: LaunchRequest, user: Principal, snapshot: WorkspaceSnapshot, report: Report, *, jobs: JobStore
) -> None:
    if not snapshot.objects:
        raise WorkspaceNotFound(f"there is no workspace {wish.workspace!r} in your bucket")
    busy = jobs.active_in(user.user, wish.workspace)
    if busy is not None:
        raise WorkspaceBusy(f"{busy.id} is already {busy.state.value} in {wish.workspace!r}")
    if report.errors:
        fields = {(f.path or f.code): f"{f.message} {f.hint}".strip() for f in report.errors}
        first = report.errors[0]
        raise ReportHasErrors(
            f"{len(report.errors)} finding(s) block the launch of {wish.workspace!r}; the first: {first.message}", fields=fields
        )


def _checkpoint(wish: LaunchRequest, snapshot: WorkspaceSnapshot, bucket: str, *, objects: ObjectStore) -> Checkpoint | None:
    if wish.checkpoint_key is not None:
        if not wish.checkpoint_key.endswith(".pt"):
            raise InvalidRequest("the checkpoint is not a .pt file", fields={"checkpoint_key": "choose a .pt file"})
        chosen = objects.head(bucket, wish.checkpoint_key)
        if chosen.size > MODEL_LIMIT:
            raise InvalidRequest(
                f"the checkpoint has {chosen.size} bytes, a model may have {MODEL_LIMIT}",
                fields={"checkpoint_key": "choose a smaller checkpoint, of the weights alone"},
            )
        return _frozen(chosen)
    found = snapshot.checkpoints
    return _frozen(objects.head(bucket, found[0].key)) if found else None


def _frozen(info: ObjectInfo) -> Checkpoint:
    return Checkpoint(key=info.key, size=info.size, etag=info.etag, version=info.version)


def _launched_files(snapshot: WorkspaceSnapshot, job_id: str, record: LaunchRecord) -> dict[str, bytes]:
    return launched_copy(
        snapshot.texts, job_id=job_id, workers=len(record.shards), checkpoint=record.checkpoint is not None, scripts=sources()
    )


def _store_run(
    job_id: str,
    record: LaunchRecord,
    files: Mapping[str, bytes],
    snapshot: WorkspaceSnapshot,
    *,
    objects: ObjectStore,
    settings: Settings,
) -> None:
    """The launched copy, its difference from the workspace, and the frozen shards: in the platform's bucket, out of reach."""
    put = objects.put
    launched = Launched(job_id=job_id, files=differences(snapshot.texts, files))
    put(settings.platform_bucket, object_keys.launched_zip(job_id, 1), zipped(files), content_type="application/zip")
    put(settings.platform_bucket, object_keys.launch_record(job_id), record.model_dump_json().encode())
    put(settings.platform_bucket, object_keys.launched_view(job_id), launched.model_dump_json().encode())


def zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip of the files with an entry for each folder (NVFLARE's validator asks for them); the same bytes for the same files."""
    buffer = io.BytesIO()
    folders = sorted({"/".join(path.split("/")[:depth]) + "/" for path in files for depth in range(1, path.count("/") + 1)})
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in folders:
            archive.writestr(zipfile.ZipInfo(folder), b"")
        for path in sorted(files):
            archive.writestr(zipfile.ZipInfo(path), files[path], zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _new_job(  # noqa: PLR0917 - each is one fact of the job
    job_id: str,
    wish: LaunchRequest,
    user: Principal,
    bucket: str,
    facts: Facts,
    leases: Sequence[Lease],
    *,
    clock: Clock,
    settings: Settings,
) -> Job:
    now = clock.now()
    return Job(
        id=job_id,
        owner=user.user,
        bucket=bucket,
        workspace=wish.workspace,
        state=JobState.PENDING,
        workers=len(leases),
        minimum=minimum_workers(len(leases)),
        rounds=facts.rounds,
        gpu_type=wish.requirements.gpu_type,
        price_per_hour=total_per_hour(lease.price_per_hour for lease in leases),
        heartbeat_timeout_s=heartbeat_limit(facts.heartbeat_timeout_s, len(leases), settings.heartbeat_s),
        start_deadline=now + timedelta(seconds=settings.start_deadline_s),
        created_at=now,
    )


def _rows(shards: tuple[Shard, ...]) -> tuple[WorkerState, ...]:
    return tuple(WorkerState(site=site, attempt=1) for site in (SERVER, *(shard.site for shard in shards)))


def read_record(job_id: str, *, objects: ObjectStore, settings: Settings) -> LaunchRecord:
    """What was frozen at launch."""
    raw = objects.read(settings.platform_bucket, object_keys.launch_record(job_id))
    return LaunchRecord.model_validate(json.loads(raw))


def show_launched(job: Job, *, objects: ObjectStore, settings: Settings) -> Launched:
    """The launched files and their difference from the workspace's."""
    raw = objects.read(settings.platform_bucket, object_keys.launched_view(job.id))
    return Launched.model_validate(json.loads(raw))

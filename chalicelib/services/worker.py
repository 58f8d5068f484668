"""What a worker asks of the platform: its token, its assignment, signed URLs."""

from datetime import timedelta

from chalicelib.contracts.account import WorkerPrincipal
from chalicelib.contracts.files import ObjectInfo
from chalicelib.contracts.job import Job
from chalicelib.contracts.worker import (
    Assignment,
    CompleteUpload,
    Role,
    SignedUrl,
    Source,
    TokenAnswer,
    TokenRequest,
    UrlAnswer,
    UrlKind,
    UrlRequest,
    UrlWish,
)
from chalicelib.domain import object_keys, uploads
from chalicelib.domain.errors import Forbidden, InvalidRequest, NotSignedIn, Superseded
from chalicelib.domain.launch import LaunchRecord
from chalicelib.domain.threads import worker_threads
from chalicelib.ports import AccountStore, Ids, JobStore, ObjectStore
from chalicelib.services.account import WORKER_PREFIX, hashed
from chalicelib.services.launch import read_record
from chalicelib.settings import Settings

LARGEST_PUT = 5 * 10**9
"""S3 takes at most 5 GB in one PUT; above it a multipart upload is signed."""


def redeem_code(wish: TokenRequest, *, accounts: AccountStore, jobs: JobStore, ids: Ids) -> TokenAnswer:
    """The token of the worker this code was made for; an unknown, revoked or otherwise used code: NotSignedIn."""
    token = WORKER_PREFIX + ids.secret()
    worker = accounts.redeem_code(hashed(wish.code), nonce=wish.nonce, token_hash=hashed(token))
    if worker is None:
        raise NotSignedIn("this worker code is unknown, revoked or used", hint="Exit; the job has ended or was restarted.")
    current_job(worker, jobs=jobs)
    return TokenAnswer(token=token)


def worker_of_token(token: str, *, accounts: AccountStore) -> WorkerPrincipal:
    """Which worker a token speaks for; NotSignedIn once its job has ended."""
    worker = accounts.worker_of_token(hashed(token))
    if worker is None:
        raise NotSignedIn("this worker token is unknown or its job has ended", hint="Exit.")
    return worker


def current_job(worker: WorkerPrincipal, *, jobs: JobStore) -> Job:
    """The worker's job, while it has not ended; Superseded for a worker of an earlier attempt."""
    job = jobs.get(worker.job_id)
    if job.state.ended:
        raise NotSignedIn(f"{job.id} has ended", hint="Exit.")
    if worker.attempt < job.attempt:
        raise Superseded(f"attempt {worker.attempt} of {job.id} was replaced by attempt {job.attempt}")
    return job


def assignment(worker: WorkerPrincipal, *, jobs: JobStore, objects: ObjectStore, settings: Settings) -> Assignment:
    """Everything this worker needs, its URLs freshly signed."""
    job = current_job(worker, jobs=jobs)
    record = read_record(job.id, objects=objects, settings=settings)
    server = worker.role == Role.SERVER
    sites = tuple(shard.site for shard in record.shards)
    return Assignment(
        job_id=job.id,
        attempt=worker.attempt,
        role=Role(worker.role),
        site=worker.site,
        sites=sites if server else (worker.site,),
        rounds=job.rounds,
        minimum=job.minimum,
        heartbeat_s=settings.heartbeat_s,
        heartbeat_timeout_s=job.heartbeat_timeout_s,
        job_zip=_job_zip(job, worker, objects=objects, settings=settings),
        shard=None if server else _shard(job, worker, record, objects=objects, settings=settings),
        checkpoint=_checkpoint(job, record, objects=objects, settings=settings) if server else None,
        server_address=None if server else job.server_address,
        threads=worker_threads(job.workers, settings.shared_cores),
        memory_limit=None if server else settings.worker_memory,
        stuck_after_s=settings.stuck_after_s,
    )


def _expires(settings: Settings) -> timedelta:
    return timedelta(seconds=settings.url_expiry_s)


def _job_zip(job: Job, worker: WorkerPrincipal, *, objects: ObjectStore, settings: Settings) -> Source:
    key = object_keys.launched_zip(job.id, worker.attempt)
    info = objects.head(settings.platform_bucket, key)
    url = objects.sign_get(settings.platform_bucket, key, expires=_expires(settings))
    return Source(url=url, size=info.size, etag=info.etag, name="job.zip")


def _shard(job: Job, worker: WorkerPrincipal, record: LaunchRecord, *, objects: ObjectStore, settings: Settings) -> Source:
    shard = next(shard for shard in record.shards if shard.site == worker.site)
    url = objects.sign_get(job.bucket, shard.key, expires=_expires(settings), version=shard.version)
    return Source(url=url, size=shard.size, etag=shard.etag, name=shard.name)


def _checkpoint(job: Job, record: LaunchRecord, *, objects: ObjectStore, settings: Settings) -> Source | None:
    found = record.checkpoint
    if found is None:
        return None
    url = objects.sign_get(job.bucket, found.key, expires=_expires(settings), version=found.version)
    return Source(url=url, size=found.size, etag=found.etag, name=found.key.rsplit("/", 1)[-1])


def sign_urls(
    worker: WorkerPrincipal, wish: UrlRequest, *, jobs: JobStore, objects: ObjectStore, settings: Settings
) -> UrlAnswer:
    """Fresh signed URLs, each only for what this worker's role may read or write."""
    job = current_job(worker, jobs=jobs)
    return UrlAnswer(urls=tuple(_sign(one, job, worker, objects=objects, settings=settings) for one in wish.wishes))


def _sign(wish: UrlWish, job: Job, worker: WorkerPrincipal, *, objects: ObjectStore, settings: Settings) -> SignedUrl:
    if wish.kind in (UrlKind.SHARD, UrlKind.CHECKPOINT, UrlKind.JOB_ZIP):
        source = _reading(wish.kind, job, worker, objects=objects, settings=settings)
        return SignedUrl(kind=wish.kind, name=wish.name, url=source.url)
    bucket, key = _place(wish.kind, wish.name, job, worker, settings)
    if wish.kind is UrlKind.KIT_GET:
        objects.head(bucket, key)
        return SignedUrl(kind=wish.kind, name=wish.name, url=objects.sign_get(bucket, key, expires=_expires(settings)))
    if wish.size is not None and wish.size > LARGEST_PUT:
        return _sign_multipart(wish, bucket, key, wish.size, objects=objects, settings=settings)
    return SignedUrl(kind=wish.kind, name=wish.name, url=objects.sign_put(bucket, key, expires=_expires(settings)))


def _reading(kind: UrlKind, job: Job, worker: WorkerPrincipal, *, objects: ObjectStore, settings: Settings) -> Source:
    if kind is UrlKind.JOB_ZIP:
        return _job_zip(job, worker, objects=objects, settings=settings)
    record = read_record(job.id, objects=objects, settings=settings)
    if kind is UrlKind.SHARD and worker.role == Role.CLIENT:
        return _shard(job, worker, record, objects=objects, settings=settings)
    found = _checkpoint(job, record, objects=objects, settings=settings)
    if kind is UrlKind.CHECKPOINT and worker.role == Role.SERVER and found is not None:
        return found
    raise Forbidden(f"{worker.site} has no {kind.value}")


def _place(kind: UrlKind, name: str, job: Job, worker: WorkerPrincipal, settings: Settings) -> tuple[str, str]:
    """(bucket, key) that this worker may write (or, for its kit, read)."""
    if kind is UrlKind.KIT_GET:
        return settings.platform_bucket, object_keys.kit(job.id, worker.attempt, worker.site)
    if kind is UrlKind.LOG:
        return job.bucket, object_keys.log_segment(job.workspace, job.id, worker.attempt, worker.site, _number(name))
    if kind is UrlKind.FILE:
        uploads.check_key(name)
        return job.bucket, f"{object_keys.files_out(job.workspace, job.id)}{worker.site}/{name}"
    if worker.role != Role.SERVER:
        raise Forbidden(f"only the central server may put a {kind.value}")
    if kind is UrlKind.KIT_PUT:
        uploads.check_key(name)
        return settings.platform_bucket, object_keys.kit(job.id, worker.attempt, name)
    keys = {
        UrlKind.MODEL: object_keys.job_model(job.workspace, job.id),
        UrlKind.BEST: object_keys.best_model(job.workspace, job.id),
    }
    return job.bucket, keys.get(kind) or object_keys.round_model(job.workspace, job.id, _number(name))


def _number(name: str) -> int:
    if not name.isascii() or not name.isdecimal() or len(name) > 9:
        raise InvalidRequest(f"{name!r} is not a number", fields={"name": "a whole number from 0"})
    return int(name)


def _sign_multipart(wish: UrlWish, bucket: str, key: str, size: int, *, objects: ObjectStore, settings: Settings) -> SignedUrl:
    upload_id = objects.start_upload(bucket, key, content_type="application/octet-stream")
    urls = tuple(
        objects.sign_part(bucket, key, upload_id, number, size=uploads.size_of_part(size, number), expires=_expires(settings))
        for number in range(1, uploads.part_count(size) + 1)
    )
    return SignedUrl(
        kind=wish.kind, name=wish.name, url=urls[0], parts=urls, part_size=uploads.part_size(size), upload_id=upload_id
    )


def complete(
    worker: WorkerPrincipal, wish: CompleteUpload, *, jobs: JobStore, objects: ObjectStore, settings: Settings
) -> ObjectInfo:
    """Make the object of a multipart upload once all its parts are there."""
    job = current_job(worker, jobs=jobs)
    if wish.kind in (UrlKind.KIT_GET, UrlKind.SHARD, UrlKind.CHECKPOINT, UrlKind.JOB_ZIP):
        raise InvalidRequest(f"a {wish.kind.value} is not uploaded", fields={"kind": "one that is PUT"})
    bucket, key = _place(wish.kind, wish.name, job, worker, settings)
    parts = tuple(objects.parts(bucket, key, wish.upload_id))
    uploads.check_complete(wish.size, parts)
    return objects.complete_upload(bucket, key, wish.upload_id, parts)

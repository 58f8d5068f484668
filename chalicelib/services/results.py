"""What a job leaves: rounds as a table, metrics.json, logs, the model."""

import json
from collections.abc import Iterator
from datetime import timedelta

from chalicelib.contracts.files import SignedDownload
from chalicelib.contracts.job import FeedItem, Job, LogSegmentStored, RoundView
from chalicelib.contracts.results import LogSegments, LogSegmentView, Rounds
from chalicelib.domain import object_keys
from chalicelib.domain.errors import JobEnded, ObjectNotFound
from chalicelib.domain.rounds import tabulate
from chalicelib.ports import JobStore, ObjectStore
from chalicelib.settings import Settings

PAGE = 500
LOG_PAGE = 100
"""Every segment is signed, which takes most of a millisecond: a longer page would hold up everybody else."""


def _feed(job_id: str, kinds: tuple[str, ...], *, jobs: JobStore) -> Iterator[FeedItem]:
    after = 0
    while page := jobs.feed(job_id, after=after, limit=PAGE, kinds=kinds):
        yield from page
        after = page[-1].seq


def show_rounds(job: Job, *, jobs: JobStore) -> Rounds:
    """Every round so far with its workers' numbers."""
    return Rounds(rounds=_rounds(job, jobs=jobs))


def _rounds(job: Job, *, jobs: JobStore) -> tuple[RoundView, ...]:
    return tabulate(item.change for item in _feed(job.id, ("round_ended", "metrics"), jobs=jobs))


def write_metrics(job: Job, *, jobs: JobStore, objects: ObjectStore) -> None:
    """``files_out/<job>/metrics.json``: per round and worker, valid JSON whatever user code returned."""
    document = {"job_id": job.id, "rounds": [view.model_dump(mode="json") for view in _rounds(job, jobs=jobs)]}
    text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    key = object_keys.metrics(job.workspace, job.id)
    objects.put(job.bucket, key, text.encode(), content_type="application/json")


def sign_model(job: Job, *, objects: ObjectStore, settings: Settings) -> SignedDownload:
    """A URL for the job's model; JobEnded when it ended without one, ObjectNotFound while it is not there yet."""
    key = object_keys.job_model(job.workspace, job.id)
    try:
        info = objects.head(job.bucket, key)
    except ObjectNotFound:
        if job.state.ended:
            raise JobEnded(f"{job.id} ended {job.state.value} without a model") from None
        raise ObjectNotFound(f"{job.id} is {job.state.value}; its model appears when it has FINISHED") from None
    expires = timedelta(seconds=settings.url_expiry_s)
    name = f"{job.workspace}-GLOBAL_MODEL.pt"
    url = objects.sign_get(job.bucket, key, expires=expires, version=info.version, filename=name)
    return SignedDownload(url=url, key=key, size=info.size, etag=info.etag, expires_in_s=settings.url_expiry_s)


def list_logs(
    job: Job, *, source: str | None, after: int, jobs: JobStore, objects: ObjectStore, settings: Settings
) -> LogSegments:
    """Signed URLs of the log segments stored after a feed number, oldest first; of one source when given."""
    expires = timedelta(seconds=settings.url_expiry_s)

    def view(item: FeedItem, log: LogSegmentStored) -> LogSegmentView:
        url = objects.sign_get(job.bucket, log.key, expires=expires)
        return LogSegmentView(
            seq=item.seq, source=log.source, attempt=log.attempt, number=log.number, url=url, lines=log.lines, bytes=log.bytes
        )

    page = jobs.feed(job.id, after=after, limit=LOG_PAGE, kinds=("log",))
    segments = tuple(
        view(item, item.change)
        for item in page
        if isinstance(item.change, LogSegmentStored) and source in (None, item.change.source)
    )
    return LogSegments(segments=segments, after=page[-1].seq if page else after, more=len(page) == LOG_PAGE)

"""Doors for what happens elsewhere: uploads, exits, the clock."""

from datetime import datetime
from typing import Any

from chalice.app import Blueprint, CloudWatchEvent, Rate

from chalicelib.bootstrap import App, current_app
from chalicelib.contracts.job import SERVER
from chalicelib.domain import bucket_events, object_keys
from chalicelib.entrypoints.log import backend_logger
from chalicelib.entrypoints.steps import steps_of
from chalicelib.ports import WorkerExit
from chalicelib.services import progress, validation
from chalicelib.services import tick as clock

bp = Blueprint(__name__)
logger = backend_logger()

UPLOADS = {"source": ["aws.s3"], "detail-type": ["Object Created", "Object Deleted"]}


@bp.on_cw_event(UPLOADS, name="uploaded")
def uploaded(event: CloudWatchEvent) -> None:
    """An object of a bucket changed: check its workspace if it is an input. Twice, late or out of order does no harm."""
    object_changed(current_app(), event.detail["bucket"]["name"], event.detail["object"]["key"])


@bp.lambda_function(name="bucket_notified")
def bucket_notified(event: dict[str, Any], _context: object) -> None:
    """A bucket that tells by S3's own notifications (itself, or through a queue or topic) instead of EventBridge: the same check,
    once for each workspace that the message is about. A test message is taken and says nothing."""
    for bucket, key in bucket_events.newest_of_each_workspace(bucket_events.notified(event)):
        object_changed(current_app(), bucket, key)


def object_changed(app: App, bucket: str, key: str) -> None:
    """Check the workspace whose input this key is; logs, outputs, folder markers and other buckets raise nothing."""
    place = object_keys.workspace_of(key)
    owner = app.accounts.owner_of(bucket)
    if owner is None or place is None or not object_keys.is_input(place[1]):
        return
    report = validation.check(owner, place[0], bucket=bucket, objects=app.objects, reports=app.reports, clock=app.clock)
    logger.info("workspace checked", extra={"workspace": place[0], "errors": len(report.errors)})


@bp.lambda_function(name="worker_exited")
def worker_exited(event: dict[str, Any], _context: object) -> None:
    """A worker's process or container is gone."""
    app = current_app()
    exit_ = WorkerExit(
        job_id=event["job_id"],
        attempt=event["attempt"],
        site=event.get("site", SERVER),
        status=event.get("status"),
        out_of_memory=event.get("out_of_memory", False),
    )
    progress.worker_exited(exit_, jobs=app.jobs, workflow=app.workflow, clock=app.clock, ids=app.ids)


@bp.schedule(Rate(1, unit=Rate.MINUTES), name="tick")
def tick(_event: CloudWatchEvent) -> None:
    """Once a minute in AWS; the laptop's clock calls ``look_around`` once a second."""
    look_around(current_app())


def look_around(app: App, listening_since: datetime | None = None) -> None:
    """Decide what a crash can cut or silence can hide; nobody is silent for the time in which nobody listened."""
    clock.tick(steps_of(app), listening_since)


def after_a_break(app: App) -> None:
    """Undo what a crash cut in two. To be called before the first request, while nothing can be under way."""
    clock.forget_cut_launches(steps_of(app))

"""Uploads that were begun and never completed: in AWS a rule of the bucket drops them after a week, here this does."""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from chalicelib.domain.errors import FLError
from chalicelib.ports import ObjectStore

KEPT = timedelta(days=7)
"""As long as the rule that every bucket gets."""
LOOK_EVERY_S = 600.0

logger = logging.getLogger(__name__)


def drop_half_uploads(objects: ObjectStore, buckets: Iterable[str], now: datetime) -> int:
    """Abort every upload that was begun more than a week ago; how many. A bucket that does not answer is logged, no more."""
    dropped = 0
    for bucket in buckets:
        try:
            dropped += _drop(objects, bucket, now)
        except FLError as error:
            logger.warning("half uploads were not dropped", extra={"bucket": bucket, "error": error.message})
    return dropped


def _drop(objects: ObjectStore, bucket: str, now: datetime) -> int:
    old = [upload for upload in objects.half_uploads(bucket) if now - upload.started_at > KEPT]
    for upload in old:
        objects.abort_upload(bucket, upload.key, upload.id)
    return len(old)

"""Uploads that were begun and never completed: in AWS a rule of the bucket drops them after a week, here this does."""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from chalicelib.adapters.errors import translated
from chalicelib.adapters.s3 import s3_client
from chalicelib.domain.errors import FLError
from local_stack.object_store import REGION, SeaweedFS

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

KEPT = timedelta(days=7)
"""As long as the rule that every bucket gets."""
LOOK_EVERY_S = 600.0

logger = logging.getLogger(__name__)


def drop_half_uploads(store: SeaweedFS, buckets: Iterable[str], now: datetime) -> int:
    """Abort every upload that was begun more than a week ago; how many. A bucket that does not answer is logged, no more."""
    keys = store.admin
    s3 = s3_client(
        endpoint_url=store.endpoint, region=REGION, access_key=keys.access_key, secret_key=keys.secret_key, path_style=True
    )
    dropped = 0
    try:
        for bucket in buckets:
            try:
                dropped += _drop(s3, bucket, now)
            except FLError as error:
                logger.warning("half uploads were not dropped", extra={"bucket": bucket, "error": error.message})
    finally:
        s3.close()
    return dropped


def _drop(s3: "S3Client", bucket: str, now: datetime) -> int:
    with translated({}):
        pages = s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket)
        old = [upload for page in pages for upload in page.get("Uploads", []) if now - upload["Initiated"] > KEPT]
        for upload in old:
            s3.abort_multipart_upload(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
    return len(old)

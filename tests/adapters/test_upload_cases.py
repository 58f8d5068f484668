"""Uploads as browsers and people who leave make them, at the real object store (the ``upl-*`` cases)."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from chalicelib.adapters.s3 import S3ObjectStore, s3_client
from local_stack.half_uploads import drop_half_uploads
from local_stack.object_store import REGION, SeaweedFS

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

pytestmark = [pytest.mark.process, pytest.mark.slow]

CASES = Path(__file__).parents[1] / "vectors" / "cases"
PAGE = "https://app.example.invalid"
NOW = datetime.now(UTC)
_buckets = count(1)


def case(name: str, file: str) -> Any:
    return json.loads((CASES / name / file).read_text())


@pytest.fixture
def store(seaweed: SeaweedFS) -> Iterator[S3ObjectStore]:
    real = seaweed.client()
    yield real
    real.close()


@pytest.fixture
def s3(seaweed: SeaweedFS) -> Iterator["S3Client"]:
    keys = seaweed.admin
    client = s3_client(
        endpoint_url=seaweed.endpoint, region=REGION, access_key=keys.access_key, secret_key=keys.secret_key, path_style=True
    )
    yield client
    client.close()


@pytest.fixture
def bucket(store: S3ObjectStore) -> str:
    name = f"cases-{next(_buckets)}"
    store.create_bucket(name, origins=[PAGE])
    return name


@pytest.mark.parametrize("asked", case("upl-content-type", "requests.json"), ids=lambda asked: asked["browser_type"] or "none")
def test_a_part_is_taken_whatever_type_the_browser_gives_it(store: S3ObjectStore, bucket: str, asked: dict[str, str]) -> None:
    upload = store.start_upload(bucket, asked["file"], content_type="application/octet-stream")
    url = store.sign_part(bucket, asked["file"], upload, 1, size=3, expires=timedelta(minutes=5))
    headers = {"Content-Type": asked["browser_type"]} if asked["browser_type"] else {}
    assert httpx.put(url, content=b"zip", headers=headers).status_code == 200


@pytest.mark.parametrize("given", case("upl-etag-hidden", "cors.json"), ids=lambda given: given.get("why", "right"))
def test_setting_a_bucket_up_again_mends_its_cors(
    store: S3ObjectStore, s3: "S3Client", bucket: str, given: dict[str, Any]
) -> None:
    """The case asks for a check of the ETag before the upload. Here no client needs the ETag: an upload is completed from the
    store's own listing. What a browser does need is written whenever the bucket is set up, whatever was there."""
    if given["rules"]:
        s3.put_bucket_cors(Bucket=bucket, CORSConfiguration={"CORSRules": given["rules"]})
    else:
        s3.delete_bucket_cors(Bucket=bucket)
    store.create_bucket(bucket, origins=[PAGE])
    [rule] = s3.get_bucket_cors(Bucket=bucket)["CORSRules"]
    assert ("PUT" in rule["AllowedMethods"], rule["ExposeHeaders"], rule["AllowedOrigins"]) == (True, ["ETag"], [PAGE])


def half_upload(store: S3ObjectStore, bucket: str, key: str) -> str:
    """One part is there, and nobody comes back."""
    upload = store.start_upload(bucket, key, content_type="application/zip")
    url = store.sign_part(bucket, key, upload, 1, size=3, expires=timedelta(minutes=5))
    httpx.put(url, content=b"abc").raise_for_status()
    return upload


def open_uploads(s3: "S3Client", bucket: str) -> list[str]:
    return [upload["Key"] for upload in s3.list_multipart_uploads(Bucket=bucket).get("Uploads", [])]


def test_an_upload_that_nobody_completed_is_dropped_after_a_week(store: S3ObjectStore, s3: "S3Client", bucket: str) -> None:
    """The case ``upl-orphan-parts``."""
    half_upload(store, bucket, "jobs/x/shards/a.zip")
    assert open_uploads(s3, bucket) == ["jobs/x/shards/a.zip"]
    assert drop_half_uploads(store, [bucket], NOW + timedelta(days=7, hours=1)) == 1
    assert open_uploads(s3, bucket) == []


def test_an_upload_of_this_week_can_still_be_resumed(store: S3ObjectStore, bucket: str) -> None:
    upload = half_upload(store, bucket, "jobs/x/shards/a.zip")
    drop_half_uploads(store, [bucket], NOW + timedelta(days=6))
    assert [part.number for part in store.parts(bucket, "jobs/x/shards/a.zip", upload)] == [1]


def test_a_bucket_that_is_gone_keeps_no_other_from_being_swept(store: S3ObjectStore, bucket: str) -> None:
    half_upload(store, bucket, "a.zip")
    assert drop_half_uploads(store, ["no-such-bucket", bucket], NOW + timedelta(days=8)) == 1


def test_every_bucket_has_the_rule_that_drops_half_uploads(s3: "S3Client", bucket: str) -> None:
    rules = s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
    assert {"DaysAfterInitiation": 7} in [rule.get("AbortIncompleteMultipartUpload") for rule in rules]

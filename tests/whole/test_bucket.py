"""The bucket by other tools, and two users who cannot see each other."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from tutti_fl import Client
from tutti_fl.shapes.account import BucketCredentials

from tests.client.builders import type_command
from tests.whole.builders import MODEL_DEF, rows_zip
from tests.whole.conftest import LiveStack

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

pytestmark = pytest.mark.process
SEEN_WITHIN_S = 30


@pytest.fixture(scope="module")
def keys(ada: Client) -> BucketCredentials:
    ada.account.create_bucket()
    return ada.account.bucket_credentials()


@pytest.fixture(scope="module")
def s3(keys: BucketCredentials) -> Iterator["S3Client"]:
    """boto3 as another tool of ada's would make it."""
    client = boto3.client(
        "s3",
        endpoint_url=keys.endpoint_url,
        region_name=keys.region,
        aws_access_key_id=keys.access_key_id,
        aws_secret_access_key=keys.secret_access_key,
        config=Config(s3={"addressing_style": "path"}),
    )
    yield client
    client.close()


def test_an_upload_by_another_tool_raises_a_check(ada: Client, keys: BucketCredentials, s3: "S3Client") -> None:
    ada.workspaces.create("by-boto3")
    s3.put_object(Bucket=keys.bucket, Key="jobs/by-boto3/scripts/model_def.py", Body=MODEL_DEF.encode())
    s3.put_object(Bucket=keys.bucket, Key="jobs/by-boto3/shards/a b+ü.zip", Body=rows_zip(1))
    assert eventually(lambda: sees_one_clean_shard(ada)), ada.workspaces.get("by-boto3").report


def test_a_folder_of_the_bucket_is_fetched_whole_and_a_second_time_not_again(
    stack: LiveStack, keys: BucketCredentials, s3: "S3Client", tmp_path: Path
) -> None:
    wanted = {"a b+ü.txt": b"one", "deep/er/two.bin": bytes(range(256))}
    for name, data in wanted.items():
        s3.put_object(Bucket=keys.bucket, Key=f"fetched/{name}", Body=data)
    s3.put_object(Bucket=keys.bucket, Key="fetched-not/three", Body=b"3")
    command = ("fetch", "fetched", "--out", str(tmp_path / "here"))
    first, second = (type_command(*command, home=tmp_path, TUTTI_URL=stack.url, TUTTI_TOKEN=stack.token("ada")) for _ in range(2))
    there = {
        str(path.relative_to(tmp_path / "here")): path.read_bytes() for path in (tmp_path / "here").rglob("*") if path.is_file()
    }
    assert there == wanted
    assert (first.code, "2 files" in first.out, "2 of them were there" in second.out) == (0, True, True)


def sees_one_clean_shard(client: Client) -> bool:
    report = client.workspaces.get("by-boto3").report
    return report is not None and report.workers == 1 and not report.errors


def eventually(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + SEEN_WITHIN_S
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.2)
    return False


def test_a_deleted_file_is_missed_by_the_next_report(ada: Client, keys: BucketCredentials, s3: "S3Client") -> None:
    ada.workspaces.create("deleted")
    s3.put_object(Bucket=keys.bucket, Key="jobs/deleted/scripts/model_def.py", Body=MODEL_DEF.encode())
    s3.delete_object(Bucket=keys.bucket, Key="jobs/deleted/scripts/model_def.py")
    assert "model_def_missing" in [finding.code for finding in ada.workspaces.check("deleted").findings]


def test_bucket_keys_open_no_other_bucket(bob: Client, s3: "S3Client") -> None:
    with pytest.raises(ClientError) as refused:
        s3.list_objects_v2(Bucket=bob.account.create_bucket().name)
    assert refused.value.response["Error"]["Code"] == "AccessDenied"


def test_bucket_keys_do_not_open_the_platforms_bucket(s3: "S3Client") -> None:
    with pytest.raises(ClientError) as refused:
        s3.list_objects_v2(Bucket="tutti-platform")
    assert refused.value.response["Error"]["Code"] == "AccessDenied"


def test_a_signed_url_gives_its_object_and_no_other(ada: Client, bob: Client) -> None:
    bob.account.create_bucket()
    bob.workspaces.create("secret")
    ada.workspaces.create("mine")
    url = ada.files.sign("jobs/mine/configs/meta.json").url
    assert httpx.get(url).status_code == 200
    stolen = url.replace(ada.account.bucket().name, bob.account.bucket().name).replace("/mine/", "/secret/")
    assert httpx.get(stolen).status_code == 403


def test_an_unsigned_request_is_refused(ada: Client) -> None:
    url = ada.files.sign("jobs/mine/configs/meta.json").url.partition("?")[0]
    assert httpx.get(url).status_code == 403

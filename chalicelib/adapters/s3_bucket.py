"""How every bucket is made and set up; the second half of s3.py, which translates the errors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import CORSRuleTypeDef, LifecycleRuleTypeDef

_OLDEST_REGION = "us-east-1"  # the one region that must not be named when a bucket is made


def make_bucket(s3: "S3Client", bucket: str) -> None:
    """Make the bucket in the client's region; silent when the caller owns it already."""
    region = s3.meta.region_name
    place: Any = {} if region == _OLDEST_REGION else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    try:
        s3.create_bucket(Bucket=bucket, **place)
    except ClientError as error:
        if error.response["Error"].get("Code") != "BucketAlreadyOwnedByYou":
            raise


def write_settings(s3: "S3Client", bucket: str, origins: Sequence[str]) -> None:
    """Versions on, CORS for the origins, half uploads dropped after 7 days and old versions after 30, nothing public."""
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    if origins:
        s3.put_bucket_cors(Bucket=bucket, CORSConfiguration={"CORSRules": [_cors(origins)]})
    s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": _lifecycle()})
    _block_public_access(s3, bucket)


def _cors(origins: Sequence[str]) -> "CORSRuleTypeDef":
    return {
        "AllowedOrigins": list(origins),
        "AllowedMethods": ["PUT", "GET", "HEAD", "POST"],
        "AllowedHeaders": ["*"],
        "ExposeHeaders": ["ETag"],
        "MaxAgeSeconds": 600,
    }


def _lifecycle() -> "list[LifecycleRuleTypeDef]":
    return [
        {
            "ID": "drop-half-uploads",
            "Status": "Enabled",
            "Filter": {"Prefix": ""},
            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7},
        },
        {
            "ID": "drop-old-versions",
            "Status": "Enabled",
            "Filter": {"Prefix": ""},
            "NoncurrentVersionExpiration": {"NoncurrentDays": 30},
        },
    ]


def _block_public_access(s3: "S3Client", bucket: str) -> None:
    try:
        s3.put_public_access_block(
            Bucket=bucket,
            PublicAccessBlockConfiguration={
                "BlockPublicAcls": True,
                "IgnorePublicAcls": True,
                "BlockPublicPolicy": True,
                "RestrictPublicBuckets": True,
            },
        )
    except ClientError as error:
        # SeaweedFS has no such switch, and nothing in it is public without a policy that only its admin may write
        if error.response["Error"].get("Code") != "NotImplemented":
            raise

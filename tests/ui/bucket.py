"""A user's bucket as any other S3 tool sees it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tutti_fl import Client

from chalicelib.adapters.s3 import s3_client

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True)
class OpenBucket:
    """The bucket's name, and a client that opens it and no other."""

    s3: "S3Client"
    name: str

    def put(self, key: str, data: bytes = b"x") -> None:
        """Write an object."""
        self.s3.put_object(Bucket=self.name, Key=key, Body=data)

    def allow(self, *methods: str, origin: str) -> None:
        """Let pages of one origin do this, and nothing else."""
        rule = {"AllowedOrigins": [origin], "AllowedMethods": list(methods)}
        self.s3.put_bucket_cors(Bucket=self.name, CORSConfiguration={"CORSRules": [rule]})  # type: ignore[list-item]

    def half(self, key: str) -> str:
        """Begin an upload that nobody completes; its id."""
        return self.s3.create_multipart_upload(Bucket=self.name, Key=key)["UploadId"]


def open_bucket(client: Client) -> OpenBucket:
    """The user's bucket, opened with a new pair of keys."""
    keys = client.account.bucket_credentials()
    s3 = s3_client(
        endpoint_url=keys.endpoint_url,
        region=keys.region,
        access_key=keys.access_key_id,
        secret_key=keys.secret_access_key,
        path_style=True,
    )
    return OpenBucket(s3, keys.bucket)

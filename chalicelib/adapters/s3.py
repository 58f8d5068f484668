"""ObjectStore on S3: AWS's own, or SeaweedFS on the laptop; which one is decided by the client handed in."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from os.path import commonprefix
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from boto3.s3.transfer import TransferConfig
from boto3.session import Session
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.session import get_session
from botocore.utils import parse_timestamp

from chalicelib.adapters.errors import translated
from chalicelib.adapters.s3_bucket import make_bucket, write_settings
from chalicelib.contracts.files import HalfUpload, Listing, ObjectInfo, Part
from chalicelib.domain.errors import (
    BucketNotFound,
    FLError,
    ObjectNotFound,
    PreconditionFailed,
    StoreUnavailable,
    UploadIncomplete,
    UploadNotFound,
)

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import ObjectIdentifierTypeDef

_PAGE = 1000
_LARGEST_SINGLE_COPY = 5 * 2**30
_COPY_PART = 512 * 2**20
_GONE = ("NoSuchKey", "NoSuchVersion", "404", "405", "MethodNotAllowed")
_PAST_THE_END = ("InvalidRange", "416")
_CHANGED = ("PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey", "412")
_BAD_PARTS = ("InvalidPart", "InvalidPartOrder", "EntityTooSmall", "MalformedXML")


_Errors = dict[str, Callable[[str], FLError]]


def s3_client(
    *,
    endpoint_url: str | None,
    region: str,
    access_key: str | None = None,
    secret_key: str | None = None,
    path_style: bool,
) -> "S3Client":
    """A client that signs with version 4 for this region; without keys, those of the environment (a Lambda's role)."""
    config = Config(
        signature_version="s3v4",
        s3={"addressing_style": "path" if path_style else "virtual"},
        retries={"mode": "standard", "total_max_attempts": 4},
        connect_timeout=3,
        read_timeout=60,
        max_pool_connections=32,
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    return _session().client(
        "s3",
        endpoint_url=endpoint_url,
        region_name=region,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        config=config,
    )


class S3ObjectStore:
    """The ObjectStore port over one S3 client; URLs are signed by ``presign_client`` when browsers need another address."""

    def __init__(
        self,
        client: "S3Client",
        presign_client: "S3Client | None" = None,
        *,
        largest_single_copy: int = _LARGEST_SINGLE_COPY,
    ) -> None:
        self._s3 = client
        self._signer = presign_client or client
        self._largest_single_copy = largest_single_copy

    def create_bucket(self, bucket: str, *, origins: Sequence[str]) -> None:
        """Make the bucket when it is not there, then write its settings, whether it was there or not."""
        with translated({}):
            make_bucket(self._s3, bucket)
            write_settings(self._s3, bucket, origins)

    def list(
        self, bucket: str, prefix: str = "", *, cursor: str | None = None, limit: int = _PAGE, delimiter: str = ""
    ) -> Listing:
        """One page in key order."""
        wish: dict[str, Any] = {"Bucket": bucket, "Prefix": prefix, "MaxKeys": min(limit, _PAGE), "Delimiter": delimiter}
        if cursor:
            wish["ContinuationToken"] = cursor
        with translated(_bucket_errors(bucket)):
            page = self._s3.list_objects_v2(**wish)
        found = tuple(
            ObjectInfo(key=item["Key"], size=item["Size"], etag=_bare(item["ETag"]), modified=item["LastModified"])
            for item in page.get("Contents", [])
        )
        prefixes = tuple(item["Prefix"] for item in page.get("CommonPrefixes", []))
        return Listing(objects=found, prefixes=prefixes, cursor=page.get("NextContinuationToken"))

    def head(self, bucket: str, key: str, *, version: str | None = None) -> ObjectInfo:
        """Size and ETag. Absent, or in a bucket that is absent: ObjectNotFound."""
        with translated(_object_errors(bucket, key)):
            answer = self._s3.head_object(Bucket=bucket, Key=key, **_version(version))
        return ObjectInfo(
            key=key,
            size=answer["ContentLength"],
            etag=_bare(answer["ETag"]),
            modified=answer["LastModified"],
            version=answer.get("VersionId"),
        )

    def read(
        self, bucket: str, key: str, *, start: int | None = None, length: int | None = None, version: str | None = None
    ) -> bytes:
        """The bytes or a range of them; an empty answer needs the object to be there all the same."""
        if length is not None and length <= 0:
            self.head(bucket, key, version=version)
            return b""
        wish: dict[str, Any] = {"Bucket": bucket, "Key": key, **_version(version), **_range(start, length)}
        with translated(_object_errors(bucket, key)):
            try:
                answer = self._s3.get_object(**wish)
            except ClientError as error:
                if _code(error) in _PAST_THE_END:
                    return b""
                raise
            with answer["Body"] as body:
                return body.read()[:length]

    def put(
        self,
        bucket: str,
        key: str,
        data: bytes,
        *,
        content_type: str = "application/octet-stream",
        if_match: str | None = None,
        if_absent: bool = False,
    ) -> ObjectInfo:
        """Write the object whole; a condition that fails, or that raced with another writer, is PreconditionFailed."""
        wish: dict[str, Any] = {"Bucket": bucket, "Key": key, "Body": data, "ContentType": content_type}
        if if_match is not None:
            wish["IfMatch"] = f'"{if_match}"'
        if if_absent:
            wish["IfNoneMatch"] = "*"
        with translated(_write_errors(bucket, key)):
            answer = self._s3.put_object(**wish)
        written = parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"])
        return ObjectInfo(key=key, size=len(data), etag=_bare(answer["ETag"]), modified=written, version=answer.get("VersionId"))

    def copy(self, bucket: str, key: str, *, to_key: str) -> ObjectInfo:
        """Copy the version that is newest now, in parts when S3 will not copy it in one go."""
        source = self.head(bucket, key)
        config = TransferConfig(
            multipart_threshold=self._largest_single_copy,
            multipart_chunksize=min(self._largest_single_copy, _COPY_PART),
        )
        origin: Any = {"Bucket": bucket, "Key": key, **_version(source.version)}
        with translated(_object_errors(bucket, key)):
            self._s3.copy(origin, bucket, to_key, Config=config)
        return self.head(bucket, to_key)

    def delete(self, bucket: str, keys: Sequence[str]) -> None:
        """Hide the keys behind delete markers; older versions stay readable by their id."""
        self._delete(bucket, [{"Key": key} for key in keys])

    def restore(self, bucket: str, keys: Sequence[str]) -> Sequence[str]:
        """Take the newest delete marker off each key."""
        wanted = set(keys)
        start = commonprefix([*wanted])  # noqa: RUF071 - a prefix may end amid a name
        with translated(_bucket_errors(bucket)):
            pages = self._s3.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=start)
            markers = [marker for page in pages for marker in page.get("DeleteMarkers", [])]
        found = [marker for marker in markers if marker["IsLatest"] and marker["Key"] in wanted]
        self._delete(bucket, [{"Key": marker["Key"], "VersionId": marker["VersionId"]} for marker in found])
        return [marker["Key"] for marker in found]

    def keeps_versions(self, bucket: str) -> bool:
        """Whether versioning is on: a user may switch it off with other tools."""
        with translated(_bucket_errors(bucket)):
            return self._s3.get_bucket_versioning(Bucket=bucket).get("Status") == "Enabled"

    def delete_prefix(self, bucket: str, prefix: str) -> None:
        """Delete every version and delete marker under the folder."""
        if not prefix.endswith("/"):
            raise ValueError(f"{prefix!r} is no folder: a prefix to delete ends in '/'")
        with translated(_bucket_errors(bucket)):
            for page in self._s3.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=prefix):
                found = [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
                self._delete(bucket, [{"Key": item["Key"], "VersionId": item["VersionId"]} for item in found])

    def start_upload(self, bucket: str, key: str, *, content_type: str) -> str:
        """Begin a multipart upload; the id the store gives it."""
        with translated(_bucket_errors(bucket)):
            return self._s3.create_multipart_upload(Bucket=bucket, Key=key, ContentType=content_type)["UploadId"]

    def sign_part(self, bucket: str, key: str, upload_id: str, number: int, *, size: int, expires: timedelta) -> str:
        """A URL that accepts exactly ``size`` bytes as part ``number`` by PUT: the length is under the signature."""
        wish = {"Bucket": bucket, "Key": key, "UploadId": upload_id, "PartNumber": number, "ContentLength": size}
        return self._sign("upload_part", wish, expires)

    def parts(self, bucket: str, key: str, upload_id: str) -> Sequence[Part]:
        """The parts the store has, by number."""
        pages = self._s3.get_paginator("list_parts").paginate(Bucket=bucket, Key=key, UploadId=upload_id)
        with translated(_upload_errors(bucket, key)):
            found = [item for page in pages for item in page.get("Parts", [])]
        return [Part(number=item["PartNumber"], size=item["Size"], etag=_bare(item["ETag"])) for item in found]

    def complete_upload(self, bucket: str, key: str, upload_id: str, parts: Sequence[Part]) -> ObjectInfo:
        """Make the object of these parts, put in the order of their numbers. No part at all: UploadIncomplete."""
        if not parts:
            raise UploadIncomplete(f"no part of {key} is there")
        ordered = sorted(parts, key=lambda part: part.number)
        with translated(_upload_errors(bucket, key)):
            answer = self._s3.complete_multipart_upload(
                Bucket=bucket,
                Key=key,
                UploadId=upload_id,
                MultipartUpload={"Parts": [{"PartNumber": part.number, "ETag": part.etag} for part in ordered]},
            )
        return self.head(bucket, key, version=answer.get("VersionId"))

    def abort_upload(self, bucket: str, key: str, upload_id: str) -> None:
        """Drop the upload and its parts; silent when it is gone."""
        try:
            with translated(_upload_errors(bucket, key)):
                self._s3.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload_id)
        except UploadNotFound:
            return

    def half_uploads(self, bucket: str) -> Sequence[HalfUpload]:
        """Every upload under way, page after page."""
        pages = self._s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket)
        with translated(_bucket_errors(bucket)):
            found = [item for page in pages for item in page.get("Uploads", [])]
        return [HalfUpload(key=item["Key"], id=item["UploadId"], started_at=item["Initiated"]) for item in found]

    def sign_get(
        self, bucket: str, key: str, *, expires: timedelta, version: str | None = None, filename: str | None = None
    ) -> str:
        """A URL that gives this object; with ``filename`` a browser saves it under that name."""
        wish: dict[str, Any] = {"Bucket": bucket, "Key": key, **_version(version)}
        if filename is not None:
            wish["ResponseContentDisposition"] = _attachment(filename)
        return self._sign("get_object", wish, expires)

    def sign_put(self, bucket: str, key: str, *, expires: timedelta, size: int | None = None) -> str:
        """A URL that accepts one PUT of this key, of exactly ``size`` bytes when given."""
        wish: dict[str, Any] = {"Bucket": bucket, "Key": key}
        if size is not None:
            wish["ContentLength"] = size
        return self._sign("put_object", wish, expires)

    def close(self) -> None:
        """Close the connections kept open; the store cannot be used afterwards."""
        self._s3.close()
        self._signer.close()

    def _sign(self, operation: str, wish: Mapping[str, Any], expires: timedelta) -> str:
        with translated({}):
            return self._signer.generate_presigned_url(operation, Params=dict(wish), ExpiresIn=int(expires.total_seconds()))

    def _delete(self, bucket: str, items: "Sequence[ObjectIdentifierTypeDef]") -> None:
        for at in range(0, len(items), _PAGE):
            batch = items[at : at + _PAGE]
            with translated(_bucket_errors(bucket)):
                answer = self._s3.delete_objects(Bucket=bucket, Delete={"Objects": batch, "Quiet": True})
            for refused in answer.get("Errors", []):
                raise StoreUnavailable(f"{refused.get('Key')} could not be deleted: {refused.get('Message')}")


def _session() -> Session:
    """botocore guesses every date's format, which takes longer than all the rest of a listing: 0.2 s a page of 1,000 objects."""
    session = get_session()
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_instant)
    return Session(botocore_session=session)


def _instant(value: Any) -> datetime:
    if isinstance(value, str) and value.endswith("Z"):
        return datetime.fromisoformat(value)
    return parse_timestamp(value)


def _code(error: ClientError) -> str:
    return str(error.response["Error"].get("Code", ""))


def _bare(etag: str) -> str:
    return etag.strip('"')


def _version(version: str | None) -> dict[str, Any]:
    return {} if version is None else {"VersionId": version}


def _range(start: int | None, length: int | None) -> dict[str, str]:
    if start is None and length is None:
        return {}
    first = start or 0
    if first < 0:  # S3 cannot cut a suffix short: the caller cuts what comes
        return {"Range": f"bytes={first}"}
    return {"Range": f"bytes={first}-{'' if length is None else first + length - 1}"}


def _attachment(filename: str) -> str:
    plain = "".join(c if " " <= c <= "~" and c not in '"\\%' else "_" for c in filename)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"


def _bucket_errors(bucket: str) -> _Errors:
    return {"NoSuchBucket": lambda _: BucketNotFound(f"there is no bucket {bucket}")}


def _object_errors(bucket: str, key: str) -> _Errors:
    return _bucket_errors(bucket) | dict.fromkeys(_GONE, lambda _: ObjectNotFound(f"there is no {key} in {bucket}"))


def _write_errors(bucket: str, key: str) -> _Errors:
    changed = dict.fromkeys(_CHANGED, lambda _: PreconditionFailed(f"{key} was written by someone else"))
    return _bucket_errors(bucket) | changed


def _upload_errors(bucket: str, key: str) -> _Errors:
    errors = _bucket_errors(bucket)
    errors["NoSuchUpload"] = lambda _: UploadNotFound(f"there is no such upload of {key}")
    return errors | dict.fromkeys(_BAD_PARTS, lambda said: UploadIncomplete(f"the parts of {key} do not fit: {said}"))

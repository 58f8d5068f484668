"""The laptop's ObjectStore: S3's, which also knows the disk that everything lies on."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from chalicelib.adapters.s3 import S3ObjectStore
from chalicelib.contracts.files import ObjectInfo, Part
from chalicelib.domain.errors import StoreUnavailable
from local_stack.disk import full_disk, is_full

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class DiskAwareStore(S3ObjectStore):
    """Refuses to write at once while the disk below ``folder`` is full: SeaweedFS would be asked again for half a minute, and
    know only an internal error."""

    def __init__(self, client: "S3Client", folder: Path) -> None:
        super().__init__(client)
        self._folder = folder

    def create_bucket(self, bucket: str, *, origins: Sequence[str]) -> None:
        """As S3ObjectStore."""
        with self._explained():
            super().create_bucket(bucket, origins=origins)

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
        """As S3ObjectStore."""
        with self._explained():
            return super().put(bucket, key, data, content_type=content_type, if_match=if_match, if_absent=if_absent)

    def copy(self, bucket: str, key: str, *, to_key: str) -> ObjectInfo:
        """As S3ObjectStore."""
        with self._explained():
            return super().copy(bucket, key, to_key=to_key)

    def start_upload(self, bucket: str, key: str, *, content_type: str) -> str:
        """As S3ObjectStore."""
        with self._explained():
            return super().start_upload(bucket, key, content_type=content_type)

    def complete_upload(self, bucket: str, key: str, upload_id: str, parts: Sequence[Part]) -> ObjectInfo:
        """As S3ObjectStore."""
        with self._explained():
            return super().complete_upload(bucket, key, upload_id, parts)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        self._require_room()
        try:
            yield
        except StoreUnavailable:
            self._require_room()  # filled meanwhile
            raise

    def _require_room(self) -> None:
        if is_full(self._folder):
            raise full_disk(self._folder)

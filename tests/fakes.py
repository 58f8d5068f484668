"""Small real implementations of the ports, for tests only."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count

from chalicelib.contracts.files import HalfUpload, Listing, ObjectInfo, Part
from chalicelib.contracts.report import Report
from chalicelib.domain.errors import BucketNotFound, ObjectNotFound, PreconditionFailed, StoreUnavailable, UploadNotFound


class MemoryClock:
    """A clock that moves only when it is told to, or paused."""

    def __init__(self, at: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def pause(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


@dataclass
class _Stored:
    info: ObjectInfo
    data: bytes


@dataclass
class _Upload:
    bucket: str
    key: str
    parts: dict[int, bytes] = field(default_factory=dict)


def _etag(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


class MemoryObjectStore:
    """ObjectStore in a dict, versions kept; ``requests`` lists each call as (operation, key). Signed URLs are ``memory:`` names
    that put_part, and nothing else, understands."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self._now: dict[str, dict[str, _Stored]] = {}
        self._versions: dict[tuple[str, str, str], _Stored] = {}
        self._uploads: dict[str, _Upload] = {}
        self._numbers = count(1)
        self._refused: set[str] = set()
        self.before_put: Callable[[str], None] | None = None
        """Called once, with the key, when the next object is about to be written: somebody else's turn."""

    def refuse_puts_to(self, bucket: str) -> None:
        """From now on writing to this bucket fails as when a store is down."""
        self._refused.add(bucket)

    def create_bucket(self, bucket: str, *, origins: Sequence[str]) -> None:
        self._note("create_bucket", bucket)
        self._now.setdefault(bucket, {})

    def list(
        self, bucket: str, prefix: str = "", *, cursor: str | None = None, limit: int = 1000, delimiter: str = ""
    ) -> Listing:
        self._note("list", prefix)
        keys = sorted(key for key in self._bucket(bucket) if key.startswith(prefix))
        rows: dict[str, ObjectInfo | None] = {}
        for key in keys:
            folder = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            shown = f"{prefix}{folder[0]}{delimiter}" if folder[1] else key
            rows[shown] = None if folder[1] else self._bucket(bucket)[key].info
        later = [name for name in sorted(rows) if cursor is None or name > cursor]
        page = later[: min(limit, 1000)]
        return Listing(
            objects=tuple(row.model_copy(update={"version": None}) for name in page if (row := rows[name])),
            prefixes=tuple(name for name in page if rows[name] is None),
            cursor=page[-1] if len(later) > len(page) else None,
        )

    def head(self, bucket: str, key: str, *, version: str | None = None) -> ObjectInfo:
        self._note("head", key)
        return self._stored(bucket, key, version).info

    def read(
        self, bucket: str, key: str, *, start: int | None = None, length: int | None = None, version: str | None = None
    ) -> bytes:
        self._note("read", key)
        data = self._stored(bucket, key, version).data
        first = max(0, len(data) + start) if start is not None and start < 0 else start or 0
        return data[first : None if length is None else first + length]

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
        self._note("put", key)
        if bucket in self._refused:
            raise StoreUnavailable(f"{bucket} cannot be written")
        turn, self.before_put = self.before_put, None
        if turn is not None:
            turn(key)
        there = self._bucket(bucket).get(key)
        if (if_absent and there) or (if_match is not None and (not there or there.info.etag != if_match)):
            raise PreconditionFailed(f"{key} is not what was expected")
        return self._store(bucket, key, data, _etag(data))

    def copy(self, bucket: str, key: str, *, to_key: str) -> ObjectInfo:
        self._note("copy", key)
        stored = self._stored(bucket, key, None)
        return self._store(bucket, to_key, stored.data, stored.info.etag)

    def delete(self, bucket: str, keys: Sequence[str]) -> None:
        for key in keys:
            self._note("delete", key)
            self._bucket(bucket).pop(key, None)

    def restore(self, bucket: str, keys: Sequence[str]) -> Sequence[str]:
        here = self._bucket(bucket)
        lost = {
            key: stored for (of, key, _), stored in self._versions.items() if of == bucket and key in keys and key not in here
        }
        here.update(lost)
        return list(lost)

    def keeps_versions(self, bucket: str) -> bool:
        self._bucket(bucket)
        return True

    def delete_prefix(self, bucket: str, prefix: str) -> None:
        self._note("delete_prefix", prefix)
        if bucket in self._refused:
            raise StoreUnavailable(f"{bucket} cannot be written")
        if not prefix.endswith("/"):
            raise ValueError("a prefix to delete ends in /")
        for key in [key for key in self._bucket(bucket) if key.startswith(prefix)]:
            del self._bucket(bucket)[key]
        for name in [name for name in self._versions if name[0] == bucket and name[1].startswith(prefix)]:
            del self._versions[name]

    def start_upload(self, bucket: str, key: str, *, content_type: str) -> str:
        self._note("start_upload", key)
        self._bucket(bucket)
        upload_id = f"upload-{next(self._numbers)}"
        self._uploads[upload_id] = _Upload(bucket, key)
        return upload_id

    def sign_part(self, bucket: str, key: str, upload_id: str, number: int, *, size: int, expires: timedelta) -> str:
        return f"memory:{upload_id}/{number}/{size}"

    def put_part(self, url: str, data: bytes) -> None:
        """What a browser's PUT to a signed part does."""
        upload_id, number, size = url.removeprefix("memory:").split("/")
        if len(data) != int(size):
            raise PreconditionFailed(f"the URL was signed for {size} bytes")
        self._upload(upload_id).parts[int(number)] = data

    def parts(self, bucket: str, key: str, upload_id: str) -> Sequence[Part]:
        self._note("parts", key)
        found = sorted(self._upload(upload_id).parts.items())
        return [Part(number=number, size=len(data), etag=_etag(data)) for number, data in found]

    def complete_upload(self, bucket: str, key: str, upload_id: str, parts: Sequence[Part]) -> ObjectInfo:
        self._note("complete_upload", key)
        upload = self._upload(upload_id)
        data = b"".join(upload.parts[part.number] for part in parts)
        del self._uploads[upload_id]
        return self._store(bucket, key, data, f"{_etag(data)}-{len(parts)}")

    def abort_upload(self, bucket: str, key: str, upload_id: str) -> None:
        self._note("abort_upload", key)
        self._uploads.pop(upload_id, None)

    def half_uploads(self, bucket: str) -> Sequence[HalfUpload]:
        self._note("half_uploads", bucket)
        self._bucket(bucket)
        begun = datetime(2026, 1, 1, tzinfo=UTC)
        return [HalfUpload(key=it.key, id=id, started_at=begun) for id, it in self._uploads.items() if it.bucket == bucket]

    def sign_get(
        self, bucket: str, key: str, *, expires: timedelta, version: str | None = None, filename: str | None = None
    ) -> str:
        return f"memory:get/{bucket}/{key}?version={version or ''}&filename={filename or ''}"

    def sign_put(self, bucket: str, key: str, *, expires: timedelta, size: int | None = None) -> str:
        return f"memory:put/{bucket}/{key}?size={'' if size is None else size}"

    def _note(self, operation: str, key: str) -> None:
        self.requests.append((operation, key))

    def _bucket(self, bucket: str) -> dict[str, _Stored]:
        if bucket not in self._now:
            raise BucketNotFound(f"there is no bucket {bucket}")
        return self._now[bucket]

    def _stored(self, bucket: str, key: str, version: str | None) -> _Stored:
        there = self._bucket(bucket).get(key) if version is None else self._versions.get((bucket, key, version))
        if there is None:
            raise ObjectNotFound(f"there is no object {key}")
        return there

    def _upload(self, upload_id: str) -> _Upload:
        if upload_id not in self._uploads:
            raise UploadNotFound(f"there is no upload {upload_id}")
        return self._uploads[upload_id]

    def _store(self, bucket: str, key: str, data: bytes, etag: str) -> ObjectInfo:
        number = next(self._numbers)
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number)
        info = ObjectInfo(key=key, size=len(data), etag=etag, modified=at, version=f"v{number}")
        self._bucket(bucket)[key] = self._versions[bucket, key, f"v{number}"] = _Stored(info, data)
        return info


class MemoryReportStore:
    """ReportStore in two dicts."""

    def __init__(self) -> None:
        self._counters: dict[tuple[str, str], int] = {}
        self._reports: dict[tuple[str, str], Report] = {}

    def next_counter(self, owner: str, workspace: str) -> int:
        self._counters[owner, workspace] = self._counters.get((owner, workspace), 0) + 1
        return self._counters[owner, workspace]

    def store(self, owner: str, report: Report) -> bool:
        kept = self._reports.get((owner, report.workspace))
        if kept is not None and kept.counter >= report.counter:
            return False
        self._reports[owner, report.workspace] = report
        return True

    def newest(self, owner: str, workspace: str) -> tuple[Report | None, int]:
        return self._reports.get((owner, workspace)), self._counters.get((owner, workspace), 0)

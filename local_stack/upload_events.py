"""SeaweedFS's file events turned into the events that S3 sends through EventBridge, in its shape."""

import json
import logging
import secrets
import threading
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from queue import Empty, SimpleQueue
from re import compile as regex
from time import time_ns
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from chalicelib.contracts.workspace import INPUT_FOLDERS
from chalicelib.domain import object_keys
from chalicelib.domain.errors import BucketNotFound, FLError
from chalicelib.ports import ObjectStore
from local_stack.answers import Answer, body_of
from local_stack.object_store import PROBE_BUCKET

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

logger = logging.getLogger(__name__)

Event = dict[str, Any]
Subject = tuple[str, str, bool]

_AGAIN_AFTER_S = (0.5, 2.0, 10.0)
"""Pauses after an event whose check met a store that is away; the last one is repeated."""
_TRIES = 60
_ACCOUNT = "000000000000"
_REGION = "us-east-1"
_CREATED, _DELETED = "Object Created", "Object Deleted"
# SeaweedFS keeps the versions of `a/b.zip` as `a/b.zip.versions/v_<version id>`.
_VERSION = regex(r"^(?P<key>.+)\.versions/v_(?P<version>[0-9a-f]{32})$")


@dataclass(frozen=True)
class StoreChange:
    """What happened to one object: its key as its user wrote it, and why."""

    kind: str
    bucket: str
    key: str
    reason: str
    size: int | None = None
    etag: str | None = None
    version: str | None = None
    deletion: str | None = None


class UploadEvents:
    """The webhook, a WSGI application. Events are handled one by one in a thread of their own: the store never waits."""

    def __init__(self, on_event: Callable[[Event], None], *, secret: str | None = None) -> None:
        self._on_event = on_event
        self._queue: SimpleQueue[Event | None] = SimpleQueue()
        self._tries: Counter[Subject] = Counter()
        self._thread = threading.Thread(target=self._handle_all, name="upload-events", daemon=True)
        self.path = f"/_store/{secret or secrets.token_urlsafe(24)}"

    def start(self) -> None:
        """Begin to handle events."""
        self._thread.start()

    def stop(self) -> None:
        """Handle what has arrived and end the thread, within 10 s."""
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join(10)

    def raise_event(self, event: Event) -> None:
        """Have the event handled after those that wait."""
        self._queue.put(event)

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Take one event of SeaweedFS at the secret path; anything else is not found."""
        asked = f"{environ.get('SCRIPT_NAME', '')}{environ.get('PATH_INFO', '')}"
        if environ["REQUEST_METHOD"] != "POST" or not secrets.compare_digest(asked.encode(), self.path.encode()):
            return Answer.text(HTTPStatus.NOT_FOUND, "not found").send(environ, start_response)
        try:
            change = change_of(json.loads(body_of(environ)))
        except (ValueError, AttributeError, KeyError, TypeError):
            return Answer.text(HTTPStatus.BAD_REQUEST, "not an event").send(environ, start_response)
        if change is not None:
            self._queue.put(event_of(change))
        return Answer(HTTPStatus.NO_CONTENT).send(environ, start_response)

    def _handle_all(self) -> None:
        ended, failed = False, dict[Subject, Event]()
        while not ended:
            arrived, ended = self._drained(self._pause(failed))
            failed = {subject: event for subject, event in {**failed, **arrived}.items() if not self._handle(subject, event)}

    def _pause(self, failed: Mapping[Subject, Event]) -> float | None:
        """How long to wait for the next event before the failed ones are tried again; None: there is none."""
        tries = min((self._tries[subject] for subject in failed), default=0)
        return _AGAIN_AFTER_S[min(tries, len(_AGAIN_AFTER_S)) - 1] if tries else None

    def _drained(self, patience_s: float | None) -> tuple[dict[Subject, Event], bool]:
        """What has arrived, the newest event of each workspace only since one check sees all of it; and whether it is the end."""
        newest: dict[Subject, Event] = {}
        try:
            while (event := self._queue.get(timeout=patience_s)) is not None:
                newest[_subject(event)] = event
                if self._queue.empty():
                    return newest, False
        except Empty:
            return newest, False
        return newest, True

    def _handle(self, subject: Subject, event: Event) -> bool:
        """Whether nothing more is to be done for the event."""
        try:
            self._on_event(event)
        except FLError as error:
            self._tries[subject] += 1
            if self._tries[subject] < _TRIES:
                logger.warning("an upload event waits", extra={"subject": subject, "error": error.message})
                return False
            logger.error("an upload event was given up", extra={"subject": subject, "error": error.message})
        except Exception:  # a door: one bad event must not end the others
            logger.exception("an upload event was not handled", extra={"subject": subject})
        self._tries.pop(subject, None)
        return True


def _subject(event: Event) -> Subject:
    """What an event is about: its workspace, and whether an input of it changed; elsewhere the key itself."""
    bucket, key = event["detail"]["bucket"]["name"], event["detail"]["object"]["key"]
    place = object_keys.workspace_of(key)
    return (bucket, key, False) if place is None else (bucket, place[0], object_keys.is_input(place[1]))


def change_of(seen: dict[str, Any]) -> StoreChange | None:
    """What SeaweedFS's file event means for a user's object; None for its own files, folders and bookkeeping."""
    bucket, _, path = str(seen.get("key", "")).removeprefix("/buckets/").partition("/")
    before, after = seen["message"].get("old_entry"), seen["message"].get("new_entry")
    entry = after or before or {}
    if not path or bucket.startswith(".") or bucket == PROBE_BUCKET or path.startswith(".uploads/") or entry.get("is_directory"):
        return None
    inside = _VERSION.match(path)
    if inside is None:
        return _written(bucket, path, after, None) if after else _removed(bucket, path, None)
    if before and after:
        return None  # the version before the newest, marked as such
    key, version = inside["key"], inside["version"]
    return _written(bucket, key, after, version) if after else _removed(bucket, key, version)


def event_of(change: StoreChange) -> Event:
    """The change in the shape of EventBridge's "Object Created" and "Object Deleted"."""
    known = {"key": change.key, "size": change.size, "etag": change.etag, "version-id": change.version}
    detail: dict[str, Any] = {
        "version": "0",
        "bucket": {"name": change.bucket},
        "object": {name: value for name, value in known.items() if value is not None} | {"sequencer": f"{time_ns():018X}"},
        "request-id": uuid4().hex[:16].upper(),
        "requester": _ACCOUNT,
        "source-ip-address": "127.0.0.1",
        "reason": change.reason,
    }
    if change.deletion:
        detail["deletion-type"] = change.deletion
    return {
        "version": "0",
        "id": str(uuid4()),
        "detail-type": change.kind,
        "source": "aws.s3",
        "account": _ACCOUNT,
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": _REGION,
        "resources": [f"arn:aws:s3:::{change.bucket}"],
        "detail": detail,
    }


def sweep(objects: ObjectStore, buckets: Sequence[str], raise_event: Callable[[Event], None]) -> Sequence[str]:
    """Raise one event per workspace, for what happened while nobody listened. The buckets that could not be read now, to be
    swept again; one that is gone is not among them."""
    unread: list[str] = []
    for bucket in buckets:
        try:
            for folder in _workspaces(objects, bucket):
                raise_event(event_of(_any_change(objects, bucket, folder)))
        except BucketNotFound as error:
            logger.warning("a bucket is gone", extra={"bucket": bucket, "error": error.message})
        except FLError as error:
            logger.warning("a bucket was not swept", extra={"bucket": bucket, "error": error.message})
            unread.append(bucket)
    return unread


def _workspaces(objects: ObjectStore, bucket: str) -> Iterable[str]:
    cursor: str | None = None
    while True:
        page = objects.list(bucket, "jobs/", cursor=cursor, delimiter="/")
        yield from page.prefixes
        cursor = page.cursor
        if cursor is None:
            return


def _any_change(objects: ObjectStore, bucket: str, folder: str) -> StoreChange:
    """The first input there; when none is left, the deletion of one: either makes the whole folder be checked."""
    for name in INPUT_FOLDERS:
        for found in objects.list(bucket, f"{folder}{name}/", limit=1).objects:
            return StoreChange(_CREATED, bucket, found.key, "Sweep", size=found.size, etag=found.etag)
    return StoreChange(_DELETED, bucket, f"{folder}scripts/model_def.py", "Sweep", deletion="Permanently Deleted")


def _written(bucket: str, key: str, entry: dict[str, Any], version: str | None) -> StoreChange:
    extended = entry.get("extended") or {}
    if "Seaweed-X-Amz-Delete-Marker" in extended:
        return StoreChange(_DELETED, bucket, key, "DeleteObject", version=version, deletion="Delete Marker Created")
    reason = "CompleteMultipartUpload" if "X-Seaweedfs-Upload-Id" in extended else "PutObject"
    size = int((entry.get("attributes") or {}).get("file_size", 0))
    return StoreChange(_CREATED, bucket, key, reason, size=size, etag=_etag(entry), version=version)


def _removed(bucket: str, key: str, version: str | None) -> StoreChange:
    return StoreChange(_DELETED, bucket, key, "DeleteObject", version=version, deletion="Permanently Deleted")


def _etag(entry: dict[str, Any]) -> str | None:
    stored = (entry.get("extended") or {}).get("Seaweed-X-Amz-ETag")
    if stored:
        return b64decode(stored).decode().strip('"')
    digest = (entry.get("attributes") or {}).get("md5")
    return b64decode(digest).hex() if digest else None

"""One file on its way to the bucket: opened by one lane, its parts sent by many, completed by the lane that sent the last.

The store's own listing of parts decides what is missing: at the start, because an earlier attempt may have got some through, and
at the end, because the API refuses to complete an upload that is not whole.
"""

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import quote

import httpx

from tutti_fl.errors import TransferFailed, TuttiError, Unreachable
from tutti_fl.etags import chunks
from tutti_fl.files import Files
from tutti_fl.lanes import Lanes
from tutti_fl.memory import Memory
from tutti_fl.meter import Meter
from tutti_fl.shapes.files import ObjectInfo, Parts, PartUrls, Upload
from tutti_fl.transport import PASSING, Transport

SIGNED_AT_ONCE = 20
"""How many parts one call signs; the API takes up to 100, but a URL grows old while it waits for its turn."""
COMPLETIONS = 3
"""How often the API may find parts missing before the upload is given up."""


@dataclass(frozen=True)
class Send:
    """A file to upload and the key it gets."""

    path: Path
    key: str


def upload_path(upload_id: str, *rest: str) -> str:
    """The route of an upload."""
    return "/".join(("/uploads", quote(upload_id, safe=""), *rest))


@dataclass(frozen=True)
class Means:
    """What all transfers of one call share."""

    http: Transport
    files: Files
    store: httpx.Client
    memory: Memory
    meter: Meter


class Transfer:
    """The upload of one file."""

    def __init__(self, send: Send, means: Means) -> None:
        self._path, self._key = send.path, send.key
        self._http, self._files, self._store = means.http, means.files, means.store
        self._memory, self._meter = means.memory, means.meter
        self._stamp = _stamp(send.path)
        self.size = self._stamp[0]
        self._what = f"{self._http.url}\n{send.key}\n{send.path.resolve()}\n{self._stamp}"
        self._lock = threading.Lock()
        self._urls: dict[int, str] = {}
        self._missing: list[int] = []
        self._left = 0
        self._completions = COMPLETIONS
        self._upload: Upload | None = None
        self._object: ObjectInfo | None = None

    @property
    def result(self) -> ObjectInfo:
        """The finished object; only after all lanes have ended well."""
        if self._object is None:
            raise TransferFailed(self._path.name, "it was not finished")
        return self._object

    def begin(self, queue: Lanes) -> None:
        """Open or resume the upload and queue the parts the store does not have."""
        upload = self._resumed()
        if upload is None:
            upload = self._http.post(Upload, "/uploads", {"key": self._key, "size": self.size}, again=True)
            if upload.parts > 1:
                self._memory.remember(self._what, f"{upload.id} {upload.part_size}")
            self._upload, there = upload, set[int]()
        else:
            self._upload, there = upload, self._stored(upload)
        self._meter.add(sum(upload.size_of(number) for number in there))
        self._queue_missing(upload, there, queue)

    def _resumed(self) -> Upload | None:
        """An upload of this very file that broke off earlier and is still open."""
        note = (self._memory.recall(self._what) or "").split()
        if len(note) != 2:
            return None
        upload_id, part_size = note[0], int(note[1])
        upload = Upload(upload_id, self._key, self.size, part_size, max(1, -(-self.size // part_size)))
        try:
            self._stored(upload)
        except TuttiError as error:
            if error.code != "upload_not_found":
                raise
            self._memory.forget(self._what)
            return None
        return upload

    def _stored(self, upload: Upload) -> set[int]:
        """The numbers of the parts that are in the store with their exact size."""
        parts = self._http.get(Parts, upload_path(upload.id, "parts")).parts
        return {part.number for part in parts if part.number <= upload.parts and part.size == upload.size_of(part.number)}

    def _queue_missing(self, upload: Upload, there: set[int], queue: Lanes) -> None:
        self._missing = [number for number in range(1, upload.parts + 1) if number not in there]
        self._left = len(self._missing)
        if self._missing:
            queue.add_first([partial(self._one, upload, number, queue) for number in self._missing])
        else:
            self._complete(upload, queue)

    def _one(self, upload: Upload, number: int, queue: Lanes) -> None:
        self._send_part(upload, number)
        with self._lock:
            self._left -= 1
            last = self._left == 0
        if last:
            self._complete(upload, queue)

    def _send_part(self, upload: Upload, number: int) -> None:
        """PUT the part until the store has taken it, each time with a fresh signature."""
        retries, cause = self._http.retries, ""
        for attempt in range(retries.tries):
            cause = self._put(upload, number, self._url(upload, number))
            if not cause:
                return
            self._check_unchanged()
            with self._lock:
                self._urls.pop(number, None)
            if attempt < retries.tries - 1:
                retries.wait(attempt)
        raise TransferFailed(f"part {number} of {self._path.name}", cause)

    def _put(self, upload: Upload, number: int, url: str) -> str:
        """One attempt; what went wrong, or nothing."""
        told = 0

        def body() -> Iterator[bytes]:
            nonlocal told
            for chunk in chunks(self._path, (number - 1) * upload.part_size, upload.size_of(number)):
                yield chunk
                told += len(chunk)
                self._meter.add(len(chunk))
            if told < upload.size_of(number):
                raise self._changed()

        try:
            answer = self._store.put(url, content=body(), headers={"Content-Length": str(upload.size_of(number))})
            cause = "" if answer.is_success else f"the store answered {answer.status_code}"
        except httpx.TransportError as error:
            cause = str(error) or type(error).__name__
        if cause:
            self._meter.add(-told)
        return cause

    def _url(self, upload: Upload, number: int) -> str:
        """A signed URL of the part; signs the next ones with it."""
        with self._lock:
            if number not in self._urls:
                ahead = [n for n in self._missing if n >= number and n not in self._urls][:SIGNED_AT_ONCE]
                answer = self._http.post(PartUrls, upload_path(upload.id, "sign"), {"numbers": ahead}, again=True)
                self._urls |= {signed.number: signed.url for signed in answer.urls}
            return self._urls[number]

    def _complete(self, upload: Upload, queue: Lanes) -> None:
        """Make the object; parts the API finds missing or of another size are sent again."""
        self._check_unchanged()
        self._completions -= 1
        try:
            made = self._made(upload)
        except TuttiError as error:
            if error.code != "upload_incomplete" or self._completions == 0:
                raise
            there = self._stored(upload)
            self._meter.add(sum(upload.size_of(number) for number in there) - self.size)
            self._urls.clear()
            self._queue_missing(upload, there, queue)
            return
        if made.size != self.size:
            raise TransferFailed(self._path.name, f"the object has {made.size} bytes in place of {self.size}")
        self._memory.forget(self._what)
        self._object = made
        self._meter.add(0, files=1)

    def _made(self, upload: Upload) -> ObjectInfo:
        """The completed object, also when the answer that said so was lost."""
        retries, asked_before = self._http.retries, False
        for attempt in range(retries.tries):
            try:
                return self._http.post(ObjectInfo, upload_path(upload.id, "complete"))
            except TuttiError as error:
                if error.code == "upload_not_found" and asked_before and (made := self._files.find(self._key)):
                    return made
                passing = isinstance(error, Unreachable) or error.status in PASSING
                if not passing or attempt == retries.tries - 1:
                    raise
                asked_before = True
                retries.wait(attempt)
        raise AssertionError("the loop above always returns or raises")

    def abandon(self) -> None:
        """Drop the upload of a file that changed; any other is kept and can be resumed. Only after all lanes have ended."""
        if self._upload is None or _stamp(self._path) == self._stamp:
            return
        self._memory.forget(self._what)
        with suppress(TuttiError):
            self._http.call("DELETE", upload_path(self._upload.id))

    def _check_unchanged(self) -> None:
        """A file that changes under the upload would make an object that never was on disk."""
        if _stamp(self._path) != self._stamp:
            raise self._changed()

    def _changed(self) -> TuttiError:
        return TuttiError("file_changed", f"{self._path} changed while it was uploaded", "Run it again when it is written.")


def _stamp(path: Path) -> tuple[int, int]:
    """Size and time of the last change, by which a file is known to be the same."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return (-1, -1)
    return (stat.st_size, stat.st_mtime_ns)

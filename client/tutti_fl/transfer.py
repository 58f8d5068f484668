"""One file on its way to the bucket: opened by one lane, its parts sent by many, completed by the lane that sent the last.

The store's own listing of parts decides what is missing: at the start, because an earlier attempt may have got some through, and
at the end, because the API refuses to complete an upload that is not whole.
"""

import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx

from tutti_fl.errors import TransferFailed, TuttiError
from tutti_fl.etags import etag_of_parts
from tutti_fl.lanes import Lanes
from tutti_fl.memory import Memory
from tutti_fl.meter import Meter
from tutti_fl.part_urls import Clock, PartUrlBook, upload_path
from tutti_fl.parts import PartSender, Piece, file_changed
from tutti_fl.shapes.files import ObjectInfo, Parts, Upload
from tutti_fl.store_answers import Verdict
from tutti_fl.transport import Transport

COMPLETIONS = 3
"""How often the API may find parts missing before the upload is given up."""


@dataclass(frozen=True)
class Send:
    """A file to upload and the key it gets."""

    path: Path
    key: str


@dataclass(frozen=True)
class Means:
    """What all transfers of one call share."""

    http: Transport
    patient: Transport
    """The same, which sits out an outage."""
    store: httpx.Client
    memory: Memory
    meter: Meter
    clock: Clock


class Transfer:
    """The upload of one file."""

    def __init__(self, send: Send, means: Means) -> None:
        self._path, self._key, self._means = send.path, send.key, means
        self._sender = PartSender(send.path, means.store, means.meter)
        self._stamp = _stamp(send.path)
        self.size = self._stamp[0]
        self._what = f"{means.http.url}\n{send.key}\n{send.path.resolve()}\n{self._stamp}"
        self._lock = threading.Lock()
        self._digests: dict[int, bytes] = {}
        self._md5_etags = True
        self._left = 0
        self._gone = False
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
        resumed = self._resumed()
        upload, there = resumed or (self._opened(), set[int]())
        self._upload = upload
        self._means.meter.found(sum(upload.size_of(number) for number in there))
        self._queue_missing(upload, there, queue)

    def _opened(self) -> Upload:
        upload = self._means.patient.post(Upload, "/uploads", {"key": self._key, "size": self.size}, again=True)
        if upload.parts > 1:
            self._means.memory.remember(self._what, f"{upload.id} {upload.part_size}")
        return upload

    def _resumed(self) -> tuple[Upload, set[int]] | None:
        """An upload of this very file that broke off earlier and is still open, and the parts that need not be sent again."""
        upload_id, _, part_size = (self._means.memory.recall(self._what) or "").partition(" ")
        if not part_size.isdecimal() or int(part_size) == 0:
            return None
        upload = Upload(upload_id, self._key, self.size, int(part_size), max(1, -(-self.size // int(part_size))))
        try:
            return upload, self._stored(upload)
        except TuttiError as error:
            if error.code != "upload_not_found":
                raise
            self._means.memory.forget(self._what)
            return None

    def _stored(self, upload: Upload) -> set[int]:
        """The numbers of the parts that are in the store with the size and the MD5 of the file's."""
        found = self._means.patient.get(Parts, upload_path(upload.id, "parts")).parts
        fitting = [part for part in found if part.number <= upload.parts and part.size == upload.size_of(part.number)]
        return {part.number for part in fitting if self._digest(upload, part.number).hex() == part.etag or not self._md5_etags}

    def _digest(self, upload: Upload, number: int) -> bytes:
        if number not in self._digests:
            self._digests[number] = self._sender.digest(_piece(upload, number))
        return self._digests[number]

    def _queue_missing(self, upload: Upload, there: set[int], queue: Lanes) -> None:
        missing = [number for number in range(1, upload.parts + 1) if number not in there]
        urls = PartUrlBook(self._means.patient, upload.id, missing, clock=self._means.clock)
        self._left = len(missing)
        if missing:
            queue.add_first([partial(self._one, upload, number, urls, queue) for number in missing])
        else:
            self._complete(upload, queue)

    def _one(self, upload: Upload, number: int, urls: PartUrlBook, queue: Lanes) -> None:
        taken = self._send_part(upload, number, urls, queue)
        with self._lock:
            # An upload that is gone may have been completed by another run of the same folder: completing it again tells.
            found_gone = not taken and not self._gone
            self._gone |= not taken
            self._left -= 1
            last = self._left == 0 and not self._gone
        if last or found_gone:
            self._complete(upload, queue)

    def _send_part(self, upload: Upload, number: int, urls: PartUrlBook, queue: Lanes) -> bool:
        """PUT the part until the store has taken it, or has no such upload any more (False)."""
        retries, refusals, verdict = self._means.patient.retries, 0, Verdict()
        digest = self._digest(upload, number)
        for attempt in range(retries.tries):
            verdict = self._sender.put(urls.url(number), _piece(upload, number), digest)
            if not verdict.cause:
                self._md5_etags &= verdict.etag == digest.hex()
                return True
            self._check_unchanged()
            if verdict.gone:
                return False
            urls.drop(number)
            refusals += not verdict.passing
            if queue.stopped or refusals == retries.refusals or attempt == retries.tries - 1:
                break
            retries.wait(attempt if verdict.passing else 0, verdict.cause)
        raise TransferFailed(f"part {number} of {self._path.name}", verdict.cause)

    def _complete(self, upload: Upload, queue: Lanes) -> None:
        """Make the object; parts the API finds missing or of another size are sent again."""
        self._check_unchanged()
        self._completions -= 1
        try:
            made = self._means.patient.post(ObjectInfo, upload_path(upload.id, "complete"), again=True)
        except TuttiError as error:
            if error.code != "upload_incomplete" or self._completions == 0:
                raise
            there = self._stored(upload)
            self._means.meter.add(sum(upload.size_of(number) for number in there) - self.size)
            self._queue_missing(upload, there, queue)
            return
        self._check_whole(upload, made)
        self._means.memory.forget(self._what)
        self._object = made
        self._means.meter.add(0, files=1)

    def _check_whole(self, upload: Upload, made: ObjectInfo) -> None:
        """The object is the file: by its size, and by the MD5s of all parts where the store's ETags are made of them."""
        wanted = etag_of_parts([self._digest(upload, number) for number in range(1, upload.parts + 1)])
        if made.size == self.size and (made.etag == wanted or not self._md5_etags):
            return
        self._means.memory.forget(self._what)
        sentence = f"what is now under {self._key} is not {self._path.name}: another upload of that name came at the same moment"
        raise TuttiError("overwritten", sentence, "Run it again to put yours there.")

    def abandon(self) -> None:
        """Drop the upload unless it can be resumed (it is remembered, its file is as it was). Only after all lanes have ended."""
        if self._upload is None or self._object is not None:
            return
        memory = self._means.memory
        if _stamp(self._path) == self._stamp and memory.recall(self._what) is not None:
            return
        memory.forget(self._what)
        with suppress(TuttiError):
            self._means.http.call("DELETE", upload_path(self._upload.id))

    def _check_unchanged(self) -> None:
        """A file that changes under the upload would make an object that never was on disk."""
        if _stamp(self._path) != self._stamp:
            raise file_changed(self._path)


def _piece(upload: Upload, number: int) -> Piece:
    return Piece(number, (number - 1) * upload.part_size, upload.size_of(number))


def _stamp(path: Path) -> tuple[int, int]:
    """Size and time of the last change, by which a file is known to be the same."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return (-1, -1)
    return (stat.st_size, stat.st_mtime_ns)

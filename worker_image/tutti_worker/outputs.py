"""Files on their way to the bucket by signed URLs; over 5 GB in parts."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from chalicelib.contracts.worker import CompleteUpload, SignedUrl, UrlKind, UrlWish
from tutti_worker.api import Pauses, PlatformApi, Refused
from tutti_worker.out_files import Limits, Outgoing, choose
from tutti_worker.trouble import ApiUnreachable

_CHUNK = 1 << 20
_PORTION = 100
_LANES = 4


class Uploads:
    """Puts files where the platform signs for; a failed or expired PUT is tried again with a fresh URL.

    ``patience_s`` counts only while nothing is on its way. Safe to use from several threads.
    """

    def __init__(self, api: PlatformApi, *, patience_s: float = 600.0, transport: httpx.BaseTransport | None = None) -> None:
        self._api, self._patience_s = api, patience_s
        self._http = httpx.Client(timeout=httpx.Timeout(60.0, connect=5.0), transport=transport)
        self._closing = threading.Event()

    def put_file(self, path: Path, kind: UrlKind, name: str = "", signed: SignedUrl | None = None) -> int:
        """Upload one file, first to ``signed`` when it is given; returns its size. Raises OSError when it cannot be read."""
        trying = Pauses(self._patience_s, self._closing)
        for pause in trying:
            size, began = path.stat().st_size, time.monotonic()
            body = Body(path, 0, size)
            if self._put_whole(path, signed or self._api.url(kind, name, size), body):
                return size
            if body.moved:
                trying.excuse(time.monotonic() - began)
            signed = None
            self._closing.wait(pause)
        raise ApiUnreachable(f"{path.name} could not be uploaded for {self._patience_s:.0f} s")

    def put_bytes(self, body: bytes, kind: UrlKind, name: str = "") -> None:
        """Upload a small body."""
        for pause in Pauses(self._patience_s, self._closing):
            if self._put(self._api.url(kind, name, len(body)).url, body, len(body)):
                return
            self._closing.wait(pause)
        raise ApiUnreachable(f"{kind} {name} could not be uploaded for {self._patience_s:.0f} s")

    def put_files(self, files: Sequence[tuple[Path, str]], kind: UrlKind) -> None:
        """Upload these files by these names, a few at a time; raises what went wrong first."""
        pool = ThreadPoolExecutor(_LANES, thread_name_prefix="upload")
        try:
            for start in range(0, len(files), _PORTION):
                portion = files[start : start + _PORTION]
                wishes = [UrlWish(kind=kind, name=name, size=path.stat().st_size) for path, name in portion]
                signed = self._api.urls(wishes)
                paths, names = zip(*portion, strict=True)
                list(pool.map(self.put_file, paths, [kind] * len(portion), names, signed))
        finally:
            # After a signal nobody waits here: what is under way ends by itself once the connections are closed.
            pool.shutdown(wait=False, cancel_futures=True)

    def put_tree(self, folder: Path, on_left_out: Callable[[str], None] = lambda _: None, limits: Limits | None = None) -> int:
        """Upload the regular files below a folder by their paths there; returns how many.

        Links and devices are passed over; ``on_left_out`` hears, in words, of every other file that cannot be kept.
        """
        count = 0
        chosen = list(choose(folder, limits or Limits(), on_left_out))
        for start in range(0, len(chosen), _PORTION):
            portion = chosen[start : start + _PORTION]
            for one, signed in zip(portion, self._signed(portion), strict=True):
                try:
                    self.put_file(one.path, UrlKind.FILE, one.name, signed)
                    count += 1
                except (OSError, Refused) as error:
                    on_left_out(f"{one.name} could not be uploaded: {error}")
        return count

    def _signed(self, portion: Sequence[Outgoing]) -> Sequence[SignedUrl | None]:
        try:
            return self._api.urls([UrlWish(kind=UrlKind.FILE, name=one.name, size=one.size) for one in portion])
        except Refused:
            # One of them is not wanted, for its name or its size: each asks for itself.
            return [None] * len(portion)

    def stop_waiting(self) -> None:
        """From now on nothing is tried again for long."""
        self._closing.set()

    def close(self) -> None:
        """Give the connections back; what is still waiting in another thread ends."""
        self._closing.set()
        self._http.close()

    def _put_whole(self, path: Path, signed: SignedUrl, body: "Body") -> bool:
        if signed.parts:
            return self._put_parts(path, signed, body)
        return self._put(signed.url, iter(body), body.length)

    def _put_parts(self, path: Path, signed: SignedUrl, body: "Body") -> bool:
        size = body.length
        part_size = signed.part_size or size
        for number, url in enumerate(signed.parts):
            start = number * part_size
            if not self._put_part(url, Body(path, start, min(part_size, size - start))):
                return False
            body.moved = True
        self._api.complete(CompleteUpload(kind=signed.kind, name=signed.name, upload_id=signed.upload_id or "", size=size))
        return True

    def _put_part(self, url: str, body: "Body") -> bool:
        for pause in Pauses(10.0, self._closing):
            if self._put(url, iter(body), body.length):
                return True
            self._closing.wait(pause)
        return False

    def _put(self, url: str, body: bytes | Iterator[bytes], size: int) -> bool:
        try:
            return self._http.put(url, content=body, headers={"content-length": str(size)}).is_success
        except httpx.TransportError:
            return False


class Body:
    """A stretch of a file as a request body, which notes that some of it was taken."""

    def __init__(self, path: Path, start: int, length: int) -> None:
        self._path, self._start, self.length = path, start, length
        self.moved = False
        """True once more was asked for than the first megabyte, which a connection may hold back."""

    def __iter__(self) -> Iterator[bytes]:
        """The bytes, from the start at every call."""
        with self._path.open("rb") as file:
            file.seek(self._start)
            left = self.length
            while left and (chunk := file.read(min(_CHUNK, left))):
                self.moved = self.moved or left < self.length
                left -= len(chunk)
                yield chunk

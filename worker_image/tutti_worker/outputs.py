"""Files on their way to the bucket by signed URLs; over 5 GB in parts."""

import threading
from collections.abc import Iterator
from pathlib import Path

import httpx

from chalicelib.contracts.worker import CompleteUpload, SignedUrl, UrlKind
from tutti_worker.api import PlatformApi, pauses
from tutti_worker.trouble import ApiUnreachable

_CHUNK = 1 << 20


class Uploads:
    """Puts files where the platform signs for; a failed or expired PUT is tried again with a fresh URL.

    Safe to use from several threads.
    """

    def __init__(self, api: PlatformApi, *, patience_s: float = 600.0, transport: httpx.BaseTransport | None = None) -> None:
        self._api, self._patience_s = api, patience_s
        self._http = httpx.Client(timeout=httpx.Timeout(60.0, connect=5.0), transport=transport)
        self._closing = threading.Event()

    def put_file(self, path: Path, kind: UrlKind, name: str = "") -> int:
        """Upload one file; returns its size."""
        size = path.stat().st_size
        for pause in pauses(self._patience_s, self._closing):
            signed = self._api.url(kind, name, size)
            if signed.parts:
                if self._put_parts(path, signed, size):
                    return size
            elif self._put(signed.url, _span(path, 0, size), size):
                return size
            self._closing.wait(pause)
        raise ApiUnreachable(f"{path.name} could not be uploaded for {self._patience_s:.0f} s")

    def put_bytes(self, body: bytes, kind: UrlKind, name: str = "") -> None:
        """Upload a small body."""
        for pause in pauses(self._patience_s, self._closing):
            if self._put(self._api.url(kind, name, len(body)).url, body, len(body)):
                return
            self._closing.wait(pause)
        raise ApiUnreachable(f"{kind} {name} could not be uploaded for {self._patience_s:.0f} s")

    def put_tree(self, folder: Path) -> int:
        """Upload every regular file below a folder by its path there; returns how many. Links are left out."""
        count = 0
        for path in regular_files(folder):
            self.put_file(path, UrlKind.FILE, path.relative_to(folder).as_posix())
            count += 1
        return count

    def stop_waiting(self) -> None:
        """From now on nothing is tried again for long."""
        self._closing.set()

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    def _put_parts(self, path: Path, signed: SignedUrl, size: int) -> bool:
        part_size = signed.part_size or size
        for number, url in enumerate(signed.parts):
            start = number * part_size
            length = min(part_size, size - start)
            if not self._put_part(url, path, start, length):
                return False
        self._api.complete(CompleteUpload(kind=signed.kind, name=signed.name, upload_id=signed.upload_id or "", size=size))
        return True

    def _put_part(self, url: str, path: Path, start: int, length: int) -> bool:
        for pause in pauses(10.0, self._closing):
            if self._put(url, _span(path, start, length), length):
                return True
            self._closing.wait(pause)
        return False

    def _put(self, url: str, body: bytes | Iterator[bytes], size: int) -> bool:
        try:
            return self._http.put(url, content=body, headers={"content-length": str(size)}).is_success
        except httpx.TransportError:
            return False


def regular_files(folder: Path) -> Iterator[Path]:
    """Every regular file below a folder, in order; symbolic links are neither listed nor followed."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and not any((folder / part).is_symlink() for part in (inside, *inside.parents)):
            yield path


def _span(path: Path, start: int, length: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        left = length
        while left and (chunk := file.read(min(_CHUNK, left))):
            left -= len(chunk)
            yield chunk

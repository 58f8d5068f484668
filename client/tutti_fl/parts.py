"""One part of a file on its way: read, summed, sent, and the store's answer understood."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from tutti_fl.errors import TuttiError
from tutti_fl.etags import chunks, md5
from tutti_fl.meter import Meter
from tutti_fl.store_answers import Verdict, etag_of, no_answer, refused


@dataclass(frozen=True)
class Piece:
    """So many bytes of a file, sent as the part with this number."""

    number: int
    start: int
    size: int


class PartSender:
    """Sends the parts of one file."""

    def __init__(self, path: Path, store: httpx.Client, meter: Meter) -> None:
        self._path, self._store, self._meter = path, store, meter

    def digest(self, piece: Piece) -> bytes:
        """The MD5 of the piece as it is on disk now."""
        return md5(self._path, piece.start, piece.size)

    def put(self, url: str, piece: Piece, digest: bytes) -> Verdict:
        """One attempt. The store keeps the part only if its bytes have this MD5; what did not stay is taken off the meter."""
        told = 0

        def body() -> Iterator[bytes]:
            nonlocal told
            for chunk in chunks(self._path, piece.start, piece.size):
                yield chunk
                told += len(chunk)
                self._meter.add(len(chunk))
            if told < piece.size:
                raise file_changed(self._path)

        headers = {"Content-Length": str(piece.size), "Content-MD5": base64.b64encode(digest).decode()}
        try:
            answer = self._store.put(url, content=body(), headers=headers)
        except httpx.TransportError as error:
            verdict = no_answer(error)
        else:
            verdict = Verdict(etag=etag_of(answer)) if answer.is_success else refused(answer)
        if verdict.cause:
            self._meter.add(-told)
        return verdict


def file_changed(path: Path) -> TuttiError:
    """The file is another one than when its upload began."""
    return TuttiError("file_changed", f"{path} changed while it was uploaded", "Run it again when it is written.")

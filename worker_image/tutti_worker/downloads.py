"""Files fetched by signed URLs: streamed, resumed where they broke off, checked by size."""

import threading
from collections.abc import Callable
from pathlib import Path

import httpx

from chalicelib.contracts.job import ReasonCode
from tutti_worker.api import Pauses
from tutti_worker.trouble import ApiUnreachable, failure

_EXPIRED = frozenset({400, 401, 403})


class _Broken(Exception):
    """The transfer broke off; what has arrived is on disk."""


class Downloads:
    """Fetches objects to disk. A refused URL is replaced by a fresh one; a broken transfer goes on where it stopped.

    ``patience_s`` is how long nothing new may arrive.
    """

    def __init__(self, *, patience_s: float = 600.0, transport: httpx.BaseTransport | None = None) -> None:
        self._patience_s = patience_s
        self._http = httpx.Client(timeout=30.0, follow_redirects=True, transport=transport)
        self._closing = threading.Event()

    def fetch(
        self,
        url: str,
        target: Path,
        *,
        size: int | None,
        fresh_url: Callable[[], str],
        on_bytes: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Have the object at ``target``, ``size`` bytes long (None: whatever comes). ``on_bytes`` hears the bytes so far.

        Raises Failure shard_invalid when the object has another size than it had at the launch.
        """
        trying, most = Pauses(self._patience_s, self._closing), 0
        for pause in trying:
            try:
                self._attempt(url, target, size, on_bytes)
                return
            except _Broken:
                if (have := target.stat().st_size if target.exists() else 0) > most:
                    most = have
                    trying.restart()
                self._closing.wait(pause)
            except PermissionError:
                self._closing.wait(min(pause, 1.0))
                url = fresh_url()
        raise ApiUnreachable(f"{target.name} could not be fetched for {self._patience_s:.0f} s")

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    def _attempt(self, url: str, target: Path, size: int | None, on_bytes: Callable[[int], None]) -> None:
        have = target.stat().st_size if target.exists() else 0
        if size is not None and have == size:
            return
        headers = {"range": f"bytes={have}-"} if have else {}
        try:
            with self._http.stream("GET", url, headers=headers) as answer:
                _check_status(answer, target)
                _write(answer, target, have if answer.status_code == 206 else 0, on_bytes)
        except httpx.TransportError as error:
            raise _Broken(str(error)) from error
        _check_size(target, size)


def _check_status(answer: httpx.Response, target: Path) -> None:
    if answer.status_code in _EXPIRED:
        raise PermissionError(target.name)
    if answer.status_code == 416:
        target.unlink(missing_ok=True)
        raise _Broken("the part on disk does not fit the object")
    if answer.status_code == 404:
        raise failure(ReasonCode.SHARD_INVALID, f"{target.name} is not in the bucket any more; launch the job again.")
    if not answer.is_success:
        raise _Broken(f"{answer.status_code}")


def _write(answer: httpx.Response, target: Path, start: int, on_bytes: Callable[[int], None]) -> None:
    done = start
    try:
        with target.open("r+b" if start else "wb") as file:
            file.seek(start)
            for chunk in answer.iter_raw():
                file.write(chunk)
                done += len(chunk)
                on_bytes(done)
            file.truncate()
    except OSError as error:
        if error.errno == 28:
            raise failure(
                ReasonCode.DISK_FULL, f"the disk is full after {done} bytes of {target.name}; choose a machine with more."
            ) from error
        raise


def _check_size(target: Path, size: int | None) -> None:
    have = target.stat().st_size
    if size is None or have == size:
        return
    if have > size:
        raise failure(
            ReasonCode.SHARD_INVALID,
            f"{target.name} has {have} bytes, at the launch it had {size}: it was changed since; launch the job again.",
        )
    raise _Broken(f"{have} of {size} bytes")

"""Ends a process in the middle: after its n-th write, wherever that is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from local_stack.records import Records
from local_stack.state_machine.records import Records as StateRecords

P = TypeVar("P")


class Killed(BaseException):
    """The process is gone; no ``except Exception`` and no door stops it."""


class Fuse:
    """Counts writes by name, and does ``blow`` when the one with number ``last`` has been made."""

    def __init__(self, last: int | None = None, blow: Callable[[str], BaseException] = Killed) -> None:
        self.writes: list[str] = []
        self._last = last
        self._blow = blow

    def burn(self, write: str) -> None:
        """One write was made."""
        self.writes.append(write)
        if len(self.writes) == self._last:
            raise self._blow(write)


class _Fused:
    def __init__(self, port: object, changes: frozenset[str], fuse: Fuse) -> None:
        self._port, self._changes, self._fuse = port, changes, fuse

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if name not in self._changes:
            return method

        @wraps(method)
        def changing(*args: object, **fields: object) -> object:
            answer = method(*args, **fields)
            self._fuse.burn(f"{type(self._port).__name__}.{name}")
            return answer

        return changing


def fused(port: P, fuse: Fuse, *changes: str) -> P:
    """The port, whose calls of these names burn the fuse when they have done their work."""
    return cast(P, _Fused(port, frozenset(changes), fuse))


class FusedRecords(Records):
    """The stores' file; each transaction burns the fuse once it holds."""

    def __init__(self, path: Path, fuse: Fuse) -> None:
        super().__init__(path)
        self._fuse = fuse

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """A transaction."""
        with super().writing() as connection:
            yield connection
        if hasattr(self, "_fuse"):  # the migration comes before
            self._fuse.burn("records")


class FusedStates(StateRecords):
    """The state machines' file; each transaction burns the fuse once it holds."""

    def __init__(self, path: Path, fuse: Fuse) -> None:
        super().__init__(path)
        self._fuse = fuse

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction."""
        with super().transaction():
            yield
        self._fuse.burn("states")

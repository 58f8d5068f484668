"""An object store that ends by itself is brought back, and given up when that is of no use."""

import pytest

from local_stack.object_store import ObjectStoreDown
from local_stack.store_keeper import StoreKeeper


class FallingStore:
    """A store that ends when it is told to, and does not start so many times."""

    def __init__(self, *, failures: int = 0) -> None:
        self.runs = True
        self.starts = 0
        self._failures = failures

    def is_running(self) -> bool:
        return self.runs

    def start(self) -> None:
        self.starts += 1
        if self.starts <= self._failures:
            raise ObjectStoreDown("port 12345 is held by another program")
        self.runs = True

    def stop(self) -> None:
        self.runs = False


class Time:
    """A clock that moves when somebody pauses."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.now += seconds


def keeper_of(store: FallingStore, time: Time) -> StoreKeeper:
    return StoreKeeper(store, clock=time, pause=time.pause)


def falls(store: FallingStore, keeper: StoreKeeper, time: Time, *, times: int, every_s: float) -> None:
    for _ in range(times):
        store.runs = False
        keeper.look()
        time.pause(every_s)


def test_a_store_that_runs_is_left_alone() -> None:
    store = FallingStore()
    assert (keeper_of(store, Time()).look(), store.starts) == (False, 0)


def test_a_store_that_ended_is_started_again() -> None:
    store = FallingStore()
    store.runs = False
    assert (keeper_of(store, Time()).look(), store.runs) == (True, True)


def test_a_start_that_fails_is_tried_again() -> None:
    store = FallingStore(failures=2)
    store.runs = False
    assert (keeper_of(store, Time()).look(), store.starts) == (True, 3)


def test_a_store_that_does_not_come_back_is_given_up_with_the_cause_and_what_to_do() -> None:
    store = FallingStore(failures=99)
    store.runs = False
    with pytest.raises(ObjectStoreDown, match=r"(?s)port 12345 is held.*'make up'"):
        keeper_of(store, Time()).look()


def test_a_store_that_ends_again_and_again_is_given_up() -> None:
    store, time = FallingStore(), Time()
    keeper = keeper_of(store, time)
    falls(store, keeper, time, times=5, every_s=60)
    store.runs = False
    with pytest.raises(ObjectStoreDown, match="6 times"):
        keeper.look()


def test_a_store_that_ends_now_and_then_is_always_brought_back() -> None:
    store, time = FallingStore(), Time()
    falls(store, keeper_of(store, time), time, times=20, every_s=300)
    assert store.runs

"""Looks after the object store while the stack runs: one that ends by itself is brought back."""

import logging
import time
from collections.abc import Callable
from typing import Protocol

from local_stack.object_store import ObjectStoreDown

logger = logging.getLogger(__name__)

_FALLS_ALLOWED = 5
_WITHIN_S = 600.0
_PAUSES_S = (0.0, 2.0, 10.0)


class Store(Protocol):
    """What the keeper needs of SeaweedFS."""

    def is_running(self) -> bool:
        """Whether it lives."""

    def start(self) -> None:
        """Start it and return when objects can be written: ObjectStoreDown."""

    def stop(self) -> None:
        """End what is left of it."""


class StoreKeeper:
    """Starts the store again, from the thread that calls ``look``. A store that cannot be brought back, or that ends for the
    sixth time within ten minutes, is given up: ObjectStoreDown, whose message says what to do."""

    def __init__(
        self, store: Store, *, clock: Callable[[], float] = time.monotonic, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._store = store
        self._clock = clock
        self._pause = pause
        self._falls: list[float] = []

    def look(self) -> bool:
        """Whether the store had ended and is back: what happened in between has been told to nobody."""
        if self._store.is_running():
            return False
        now = self._clock()
        self._falls = [*(fall for fall in self._falls if now - fall < _WITHIN_S), now]
        logger.warning("the object store has ended and is started again", extra={"falls": len(self._falls)})
        if len(self._falls) > _FALLS_ALLOWED:
            raise ObjectStoreDown(_given_up(f"it ended {len(self._falls)} times within ten minutes"))
        self._bring_back()
        logger.info("the object store is back", extra={"seconds": round(self._clock() - now, 1)})
        return True

    def _bring_back(self) -> None:
        self._store.stop()
        why = ""
        for pause in _PAUSES_S:
            self._pause(pause)
            try:
                return self._store.start()
            except ObjectStoreDown as error:
                why = str(error)
                logger.warning("the object store did not come back", extra={"why": why})
        raise ObjectStoreDown(_given_up(why))


def _given_up(why: str) -> str:
    return (
        f"the object store cannot be kept running: {why}\n"
        "The stack ends; its data is kept, and jobs wait ten minutes. Mend the cause (disk, memory, ports), then 'make up'."
    )

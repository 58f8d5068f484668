"""A few threads that work off a queue."""

import threading
from collections import deque
from collections.abc import Callable, Iterable

Task = Callable[[], None]


class Lanes:
    """Runs tasks on ``count`` threads until none is left; the first error stops all. A task may add tasks, which go first."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._tasks: deque[Task] = deque()
        self._busy = 0
        self._error: BaseException | None = None
        self._changed = threading.Condition()

    @property
    def stopped(self) -> bool:
        """True once a task has failed: what still runs should come to its end."""
        return self._error is not None

    def add_first(self, tasks: Iterable[Task]) -> None:
        """Put tasks at the head of the queue, in this order."""
        with self._changed:
            self._tasks.extendleft(reversed(list(tasks)))
            self._changed.notify_all()

    def run(self, tasks: Iterable[Task]) -> None:
        """Work everything off. Raises the first error when the tasks under way have ended; an interrupt waits for none."""
        self._tasks.extend(tasks)
        threads = [threading.Thread(target=self._lane, daemon=True, name=f"lane-{n}") for n in range(self._count)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt as interrupt:
            self._stop(interrupt)
            raise
        if self._error is not None:
            raise self._error

    def _lane(self) -> None:
        while (task := self._next()) is not None:
            try:
                task()
            except BaseException as error:  # noqa: BLE001 - the thread's door: run() raises it in the caller's thread
                self._stop(error)
            finally:
                self._finished()

    def _next(self) -> Task | None:
        """The next task, waiting while a busy lane may still add some; None when all is done or something failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._tasks or self._busy == 0 or self._error is not None)
            if not self._tasks or self._error is not None:
                return None
            self._busy += 1
            return self._tasks.popleft()

    def _finished(self) -> None:
        with self._changed:
            self._busy -= 1
            self._changed.notify_all()

    def _stop(self, error: BaseException) -> None:
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

"""One move of the interpreter at a time, each a transaction of its own; who calls the functions and when is the engine's part."""

import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from local_stack.state_machine.faults import RUNTIME, TIMEOUT, Fault, HistoryFull
from local_stack.state_machine.payload import compact
from local_stack.state_machine.records import Closed, Records, Step
from local_stack.state_machine.walk import Launch, Walker

_HISTORY_IS_FULL = "The execution reached the maximum number of history events ({})."
_TOO_LONG = "The execution ran longer than its TimeoutSeconds."
_AT_A_TURN = 100

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Interpreter:
    """Moves executions whose time has come, and those whose task was answered."""

    records: Records
    walker: Walker
    clock: Callable[[], float]
    most_events: int

    def turn(self) -> Iterator[Launch]:
        """Move what is due, a hundred steps at most, giving each function to call when its step is safely written."""
        self._end_overdue()
        for number in self.records.due(self.clock(), _AT_A_TURN):
            yield from self._move(number)

    def _end_overdue(self) -> None:
        for execution in self.records.overdue(self.clock()):
            with self.records.transaction():
                found = self.records.execution(execution)
                if found is not None and found.status == "RUNNING":
                    self.walker.end(execution, "TIMED_OUT", error=TIMEOUT, cause=_TOO_LONG)

    def _move(self, number: int) -> Sequence[Launch]:
        launches: list[Launch] = []

        def advance(step: Step) -> None:
            if step.wake is not None and step.wake <= self.clock() and (launch := self.walker.advance(step)):
                launches.append(launch)

        held = self._held_together(lambda: self.records.step(number), advance)
        return launches if held else ()

    def answer(self, launch: Launch, answer: JsonValue) -> None:
        """The function has answered. Silent when its task is over or was called again meanwhile."""
        if launch.awaited:
            self._by_token(launch.token, lambda step: self.walker.submitted(step, answer))
        else:
            result = compact({"ExecutedVersion": "$LATEST", "Payload": answer, "StatusCode": 200})
            self._by_token(launch.token, lambda step: self.walker.succeed(step, result))

    def succeed(self, token: str, output: str) -> bool:
        """The task of the token ends with this JSON; whether there was one."""
        return self._by_token(token, lambda step: self.walker.succeed(step, output))

    def fail(self, token: str, fault: Fault) -> bool:
        """The task of the token fails; whether there was one."""
        return self._by_token(token, lambda step: self.walker.fail(step, fault))

    def keep_alive(self, token: str) -> bool:
        """The task of the token has one heartbeat period more; whether there was one."""
        return self._by_token(token, self.walker.keep_alive)

    def _by_token(self, token: str, act: Callable[[Step], None]) -> bool:
        return self._held_together(lambda: self.records.step_of_token(token), act)

    def _held_together(self, find: Callable[[], Step | None], act: Callable[[Step], None]) -> bool:
        """Find and act in one transaction; whether something was found and what was done to it holds.

        A full history fails the execution, and so does a mistake in the interpreter: the loop must not meet it again for ever.
        """
        step: Step | None = None
        try:
            with self.records.transaction():
                step = find()
                if step is not None:
                    act(step)
            return step is not None
        except HistoryFull:
            self._break_off(step, _HISTORY_IS_FULL.format(self.most_events))
        except (sqlite3.Error, Closed):
            raise
        except Exception as error:  # a door: no mistake of one state may end the loop that runs all others
            logger.exception("a state could not be run", extra={"state": step.state if step else None})
            self._break_off(step, f"The interpreter failed: {type(error).__name__}: {error}")
        return False

    def _break_off(self, step: Step | None, cause: str) -> None:
        if step is not None:
            with self.records.transaction():
                self.walker.end(step.execution, "FAILED", error=RUNTIME, cause=cause)

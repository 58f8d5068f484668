"""The interpreter at work: a loop that sleeps until something is due, and a thread for each function that is being called."""

import logging
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import JsonValue

from local_stack.state_machine.faults import Fault
from local_stack.state_machine.interpreter import Interpreter
from local_stack.state_machine.limits import Limits
from local_stack.state_machine.operations import Operations
from local_stack.state_machine.payload import compact
from local_stack.state_machine.records import Closed, Records
from local_stack.state_machine.walk import Launch, Walker

Invoke = Callable[[str, JsonValue], JsonValue]
"""Calls a Lambda function by its name; what it raises is the task's error, under the name of the exception's class."""

_LONGEST_SLEEP = 60.0
_GRACE = 10.0
_HEARD_AGAIN_WITHIN = 120.0
_AFTER_AN_ERROR = 1.0

logger = logging.getLogger(__name__)


class Engine:
    """Runs state machines out of one SQLite file. It does nothing before ``start`` and nothing after ``close``.

    A function may be called again, with a new token, when the process died while it ran; a task that waits for its token
    is never called again for that.
    """

    def __init__(self, path: Path, invoke: Invoke, clock: Callable[[], float] = time.time, limits: Limits | None = None) -> None:
        self._path = path
        self._invoke = invoke
        self._clock = clock
        self._limits = limits or Limits()
        self._due = threading.Event()
        self._stopping = False
        self._records: Records | None = None
        self._operations: Operations | None = None
        self._loop: threading.Thread | None = None
        self._calls: set[threading.Thread] = set()

    @property
    def operations(self) -> Operations:
        """The service's operations; RuntimeError before ``start``."""
        if self._operations is None:
            raise RuntimeError("the engine has not been started; call start() first")
        return self._operations

    def start(self) -> None:
        """Open the file, carry on with what was running, and return. Another process has the file: AlreadyOpen."""
        self._records = Records(self._path)
        with self._records.transaction():
            again = self._records.relaunch()
            self._records.hear_again_until(self._clock() + _HEARD_AGAIN_WITHIN)
        walker = Walker(self._records, self._limits, self._clock, random.random)
        interpreter = Interpreter(self._records, walker, self._clock, self._limits.events)
        self._operations = Operations(interpreter, self._limits, self._clock, self._due.set)
        self._loop = threading.Thread(target=self._run, args=(interpreter, self._records), name="state-machines", daemon=True)
        self._loop.start()
        logger.info("state machines started", extra={"called_again": again})

    def close(self) -> None:
        """Stop moving, wait up to 10 s for functions that run, and close the file. What did not end by then is called again
        at the next start."""
        self._stopping = True
        self._due.set()
        if self._loop is not None:
            self._loop.join()
        deadline = time.monotonic() + _GRACE
        for call in list(self._calls):
            call.join(max(0.0, deadline - time.monotonic()))
        if self._records is not None:
            self._records.close()

    def _run(self, interpreter: Interpreter, records: Records) -> None:
        while not self._stopping:
            self._due.clear()
            try:
                sleep = self._turn(interpreter, records)
            except sqlite3.Error:
                logger.exception("the state machines cannot read or write their file; trying again")
                sleep = _AFTER_AN_ERROR
            if sleep > 0:
                self._due.wait(sleep)

    def _turn(self, interpreter: Interpreter, records: Records) -> float:
        for launch in interpreter.turn():
            self._call(interpreter, launch)
        wake = records.next_wake()
        return _LONGEST_SLEEP if wake is None else min(_LONGEST_SLEEP, wake - self._clock())

    def _call(self, interpreter: Interpreter, launch: Launch) -> None:
        call = threading.Thread(target=self._answer, args=(interpreter, launch), name=launch.function, daemon=True)
        self._calls.add(call)
        try:
            call.start()
        except RuntimeError as error:
            self._calls.discard(call)
            interpreter.fail(launch.token, Fault("Lambda.TooManyRequestsException", f"No thread can be started: {error}"))

    def _answer(self, interpreter: Interpreter, launch: Launch) -> None:
        try:
            outcome = called(self._invoke, launch)
            while not _told(interpreter, launch, outcome):
                time.sleep(_AFTER_AN_ERROR)
        except Closed:
            logger.info("a function answered after the stop and will be called again", extra={"function": launch.function})
        finally:
            self._calls.discard(threading.current_thread())
            self._due.set()


def _told(interpreter: Interpreter, launch: Launch, outcome: tuple[JsonValue] | Fault) -> bool:
    """Whether the outcome could be written: on a full disk an answer must wait, or its task would never end."""
    try:
        if isinstance(outcome, Fault):
            interpreter.fail(launch.token, outcome)
        else:
            interpreter.answer(launch, outcome[0])
    except sqlite3.Error:
        logger.exception("the answer of a function cannot be written; trying again", extra={"function": launch.function})
        return False
    return True


def called(invoke: Invoke, launch: Launch) -> tuple[JsonValue] | Fault:
    """The function's answer, or the fault that AWS makes of what it raised."""
    try:
        answer = invoke(launch.function, launch.payload)
    except Exception as error:  # noqa: BLE001  (a door: whatever a function raises is its task's error)
        kind = type(error).__name__
        return Fault(kind, compact({"errorMessage": str(error), "errorType": kind}))
    try:
        compact(answer)
    except (TypeError, ValueError) as error:
        return Fault("Runtime.MarshalError", compact({"errorMessage": str(error), "errorType": "Runtime.MarshalError"}))
    return (answer,)

"""Small machines, and a simulation that runs them in virtual time without threads."""

import heapq
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from local_stack.state_machine.definition import LAMBDA, LAMBDA_WITH_TOKEN, substituted
from local_stack.state_machine.engine import called
from local_stack.state_machine.faults import Fault
from local_stack.state_machine.interpreter import Interpreter
from local_stack.state_machine.limits import Limits
from local_stack.state_machine.operations import Operations
from local_stack.state_machine.records import Event, Records
from local_stack.state_machine.walk import Launch, Walker

Json = dict[str, JsonValue]
Function = Callable[[Json], "JsonValue | Slow"]

ROLE = "arn:aws:iam::123456789012:role/states"
ASL = Path(__file__).parents[2] / "step_functions" / "training_job.asl.json"
FUNCTIONS = ("Prepare", "StartServer", "StartWorker", "Train", "Collect", "Release", "Fail")


def machine(first: Json, **others: Json) -> Json:
    """A machine whose state A is ``first``."""
    return {"StartAt": "A", "States": cast(Json, {"A": first, **others})}


def task(function: str, payload: JsonValue = None, **fields: JsonValue) -> Json:
    """A Task that calls the function; the last one unless ``Next`` is given."""
    state: Json = {
        "Type": "Task",
        "Resource": LAMBDA,
        "Parameters": {"FunctionName": function, "Payload": payload or {}},
        **fields,
    }
    return state if "Next" in fields else {**state, "End": True}


def awaited(function: str, payload: Json | None = None, **fields: JsonValue) -> Json:
    """A Task that waits for its token."""
    given: Json = {"token.$": "$$.Task.Token", **(payload or {})}
    return {**task(function, given, **fields), "Resource": LAMBDA_WITH_TOKEN}


def passing(**fields: JsonValue) -> Json:
    """A Pass that ends the machine."""
    return {"Type": "Pass", **fields} if "Next" in fields else {"Type": "Pass", "End": True, **fields}


def catching(*errors: str, to: str = "B", **fields: JsonValue) -> list[JsonValue]:
    """A Catch of these errors."""
    return [{"ErrorEquals": list(errors), "Next": to, **fields}]


def retrying(*errors: str, **fields: JsonValue) -> list[JsonValue]:
    """A Retry of these errors."""
    return [{"ErrorEquals": list(errors), **fields}]


def project_definition() -> str:
    """The committed definition with the names of the functions put in."""
    return substituted(ASL.read_text(), {f"{name}Function": name for name in FUNCTIONS})


class CustomErr(Exception):
    """What the functions of the tests raise."""


@dataclass(frozen=True)
class Slow:
    """An answer that takes so many seconds."""

    seconds: float
    answer: JsonValue = None


@dataclass(frozen=True)
class Outcome:
    """How an execution ended, and its history."""

    status: str
    output: JsonValue
    error: str | None
    cause: str | None
    seconds: float
    events: Sequence[Event]

    @property
    def states(self) -> list[str]:
        """The names of the states entered, in order."""
        entered = [event for event in self.events if event.type.endswith("StateEntered")]
        return [str(cast(Json, event.details["stateEnteredEventDetails"])["name"]) for event in entered]

    @property
    def why(self) -> str:
        """The error that a training job's cause begins with."""
        return (self.cause or "").partition(":")[0]

    @property
    def largest(self) -> int:
        """The bytes of the largest input, output or parameters of any state."""
        texts = [t for event in self.events for kind in event.details.values() if isinstance(kind, dict) for t in kind.values()]
        return max(len(text.encode()) for text in texts if isinstance(text, str))

    @property
    def types(self) -> list[str]:
        """The kinds of the events, in order."""
        return [event.type for event in self.events]


class Simulation:
    """Runs machines in memory on a clock that jumps to the next thing to do."""

    def __init__(self, functions: Mapping[str, Function] | None = None, limits: Limits | None = None) -> None:
        self.now = 1_000_000.0
        self.functions: dict[str, Function] = dict(functions or {})
        self.calls: list[tuple[str, JsonValue]] = []
        self.running = self.most_running = 0
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        limits = limits or Limits()
        self.records = Records(Path(":memory:"))
        walker = Walker(self.records, limits, lambda: self.now, lambda: 0.5)
        self.interpreter = Interpreter(self.records, walker, lambda: self.now, limits.events)
        self.operations = Operations(self.interpreter, limits, lambda: self.now, lambda: None)

    def close(self) -> None:
        """Give the memory back."""
        self.records.close()

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Do this at that virtual time."""
        heapq.heappush(self._later, (self.now + seconds, next(self._numbers), action))

    def run(self, definition: Json | str, given: JsonValue = None) -> Outcome:
        """Start the machine on the input and run it to its end."""
        text = definition if isinstance(definition, str) else json.dumps(definition)
        arn = self.operations.install("machine", text, ROLE)
        execution = self.operations.start_execution(arn, None, json.dumps({} if given is None else given))
        self.run_out(execution.arn)
        return self.outcome(execution.arn)

    def run_out(self, arn: str) -> None:
        """Run until the execution has ended."""
        while self.operations.execution(arn).status == "RUNNING":
            if not self.step() and self.operations.execution(arn).status == "RUNNING":
                raise AssertionError(f"{arn} runs and nothing will ever happen to it any more")

    def step(self) -> bool:
        """Do what is due, or jump to the next moment when something is; False when nothing ever will be."""
        launches = list(self.interpreter.turn())
        for launch in launches:
            self._call(launch)
        moments = [*([self.records.next_wake()]), *([self._later[0][0]] if self._later else [])]
        known = [moment for moment in moments if moment is not None]
        if launches or not known:
            return bool(launches or known)
        self.now = max(self.now, min(known))
        while self._later and self._later[0][0] <= self.now:
            heapq.heappop(self._later)[2]()
        return True

    def _call(self, launch: Launch) -> None:
        self.calls.append((launch.function, launch.payload))
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        self._answer(launch)

    def _answer(self, launch: Launch) -> None:
        delay = 0.0

        def invoke(name: str, payload: JsonValue) -> JsonValue:
            nonlocal delay
            answer = self.functions[name](cast(Json, payload))
            delay = answer.seconds if isinstance(answer, Slow) else 0.0
            return answer.answer if isinstance(answer, Slow) else answer

        outcome = called(invoke, launch)
        self.after(delay, lambda: self._ended(launch, outcome))

    def _ended(self, launch: Launch, outcome: tuple[JsonValue] | Fault) -> None:
        self.running -= 1
        if isinstance(outcome, Fault):
            self.interpreter.fail(launch.token, outcome)
        else:
            self.interpreter.answer(launch, outcome[0])

    def outcome(self, arn: str) -> Outcome:
        """How the execution ended."""
        found = self.operations.execution(arn)
        output = json.loads(found.output) if found.output is not None else None
        lasted = (found.stopped or self.now) - found.started
        return Outcome(found.status, output, found.error, found.cause, lasted, self.operations.history(arn))

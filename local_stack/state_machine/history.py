"""Writes the history of executions, in AWS's words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pydantic import JsonValue

from local_stack.state_machine.definition import MapState, ParallelState, State, TaskState
from local_stack.state_machine.faults import HEARTBEAT_TIMEOUT, TIMEOUT, Fault, HistoryFull
from local_stack.state_machine.limits import Limits
from local_stack.state_machine.records import Records, Step

Details = dict[str, JsonValue]


@dataclass(frozen=True)
class History:
    """The histories in the records; every event names the one that led to it."""

    records: Records
    limits: Limits
    clock: Callable[[], float]

    def add(self, execution: int, kind: str, previous: int, details: Mapping[str, JsonValue]) -> int:
        """Write an event; its number. The last one an execution may have is kept for its end: HistoryFull."""
        number = self.records.add_event(execution, self.clock(), kind, previous, details)
        if number >= self.limits.events:
            raise HistoryFull
        return number

    def of_step(self, step: Step, kind: str, details: Mapping[str, JsonValue], *, key: str | None = None) -> Step:
        """Write an event with its details under AWS's key for the kind (or ``key``); the step that it led to."""
        name = f"{key or kind[:1].lower() + kind[1:]}EventDetails"
        number = self.add(step.execution, kind, step.event, {name: {**details}} if details else {})
        return replace(step, event=number)

    def entered(self, step: Step, state: State) -> Step:
        """The step enters its state now."""
        step = replace(step, entered=self.clock())
        return self.of_step(step, f"{state.type}StateEntered", {"name": step.state, "input": step.input}, key="stateEntered")

    def exited(self, step: Step, state: State, output: str) -> Step:
        """The step leaves its state."""
        return self.of_step(step, f"{state.type}StateExited", {"name": step.state, "output": output}, key="stateExited")

    def scheduled(self, step: Step, state: TaskState, parameters: str, limits: Mapping[str, float | None]) -> Step:
        """The function of the task is about to be called."""
        given = {key: value for key, value in limits.items() if value is not None}
        details = {**_resource(state), "region": "us-east-1", "parameters": parameters, **given}
        step = self.of_step(step, "TaskScheduled", details)
        return self.of_step(step, "TaskStarted", _resource(state))

    def ended(self, step: Step, state: State, kind: str, output: JsonValue) -> Step:
        """The task has been submitted, or has succeeded, with this text."""
        resource = _resource(state) if isinstance(state, TaskState) else {}
        return self.of_step(step, kind, {**resource, "output": output})

    def failed(self, step: Step, state: State, fault: Fault) -> Step:
        """The state failed, whatever Retry and Catch make of it."""
        if isinstance(state, TaskState):
            kind = "TaskTimedOut" if fault.error in (TIMEOUT, HEARTBEAT_TIMEOUT) else "TaskFailed"
            why: Details = {"error": fault.error, "cause": fault.cause}
            return self.of_step(step, kind, {**_resource(state), **{key: text for key, text in why.items() if text}})
        if isinstance(state, MapState | ParallelState):
            return self.of_step(step, f"{state.type}StateFailed", {})
        return step

    def iteration(self, around: Step, verb: str, position: int) -> Step:
        """An item of a Map has Started, Succeeded, Failed or been Aborted."""
        return self.of_step(around, f"MapIteration{verb}", {"name": around.state, "index": position})


def _resource(state: TaskState) -> Details:
    return {"resourceType": "lambda", "resource": state.resource.rsplit(":", 1)[-1]}

"""Carries out the decisions: moves the steps of an execution through its states.

Every method works inside a transaction of the caller's and starts nothing: what is to be called comes back as a Launch.
"""

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from pydantic import JsonValue

from local_stack.state_machine import definition
from local_stack.state_machine.context import context_of
from local_stack.state_machine.decisions import (
    Again,
    Child,
    Context,
    Decision,
    Fork,
    Invoke,
    Leave,
    Producing,
    Sleep,
    decide,
    on_fault,
    output_of,
)
from local_stack.state_machine.definition import Machine, MapState, ParallelState, State, TaskState
from local_stack.state_machine.faults import HEARTBEAT_TIMEOUT, TIMEOUT, Fault
from local_stack.state_machine.history import History
from local_stack.state_machine.limits import Limits
from local_stack.state_machine.payload import compact
from local_stack.state_machine.records import Execution, Records, Step


@dataclass(frozen=True)
class Launch:
    """A function to call once the transaction holds; ``token`` tells whether its answer still counts."""

    token: str
    function: str
    payload: JsonValue
    awaited: bool


class Walker:
    """The rules of the language over the records. ``jitter`` gives a number in [0, 1)."""

    def __init__(self, records: Records, limits: Limits, clock: Callable[[], float], jitter: Callable[[], float]) -> None:
        self._records = records
        self._limits = limits
        self._clock = clock
        self._jitter = jitter
        self._history = History(records, limits, clock)
        self._parsed: Callable[[str], Machine] = lru_cache(maxsize=32)(definition.parse)

    # --- executions

    def begin(self, execution: Execution, role: str) -> None:
        """Put the execution at its first state."""
        details: dict[str, JsonValue] = {"input": execution.input, "roleArn": role}
        number = self._history.add(execution.id, "ExecutionStarted", 0, {"executionStartedEventDetails": details})
        start_at = self._parsed(execution.definition).start_at
        self._records.add_step({
            "execution": execution.id, "parent": None, "position": 0, "scope": "[]", "state": start_at,
            "input": execution.input, "status": "ready", "wake": 0, "event": number,
        })  # fmt: skip

    def end(self, execution: int, status: str, **outcome: str | None) -> None:
        """Write the end of the execution (output, or error and cause) and drop its steps."""
        verb = "".join(word.capitalize() for word in status.split("_"))
        details: dict[str, JsonValue] = {key: value for key, value in outcome.items() if value is not None}
        previous = self._execution(execution).events
        given: dict[str, JsonValue] = {f"execution{verb}EventDetails": details}
        self._records.add_event(execution, self._clock(), f"Execution{verb}", previous, given)
        self._records.end_execution(execution, {"status": status, "stopped": self._clock(), **outcome})

    # --- steps

    def advance(self, step: Step) -> Launch | None:
        """Do what the step waits for now that its time has come."""
        if step.status == "sleeping":
            following = next(iter(self._state(step).followers), None)
            self._leave(step, Leave(json.loads(step.output or "{}"), following))
            return None
        if step.status in ("ready", "again"):
            return self._enter(step)
        timed_out = step.expires is not None and step.expires <= self._clock()
        self.fail(step, Fault(TIMEOUT if timed_out else HEARTBEAT_TIMEOUT))
        return None

    def submitted(self, step: Step, answer: JsonValue) -> None:
        """The function of an awaited task has answered; from now on only the token ends it."""
        step = self._history.ended(step, self._state(step), "TaskSubmitted", compact(answer))
        self._records.set_step(step.id, status="waiting", event=step.event)

    def succeed(self, step: Step, output: str) -> None:
        """End the step's task with this JSON."""
        state = self._state(step)
        try:
            self._limits.fit(output, f"The result of '{step.state}'")
            step = self._history.ended(step, state, "TaskSucceeded", output)
            self._leave_with(step, state, json.loads(output))
        except Fault as fault:
            self.fail(step, fault)

    def keep_alive(self, step: Step) -> None:
        """Move the step's heartbeat deadline on."""
        self._records.set_step(step.id, wake=_wake(self._clock(), step.heartbeat, step.expires))

    def fail(self, step: Step, fault: Fault) -> None:
        """Let Retry and Catch deal with the fault, or fail what is around the step."""
        state = self._state(step)
        step = self._history.failed(step, state, fault)
        self._drop_children(step, state)
        decision: Again | Leave | None
        try:
            decision = on_fault(state, fault, json.loads(step.input), step.retries, self._jitter())
            if isinstance(decision, Leave):
                self._leave(step, decision)
        except Fault as other:
            decision, fault = None, other
        if isinstance(decision, Again):
            self._move(step, status="again", wake=self._clock() + decision.after, retries=json.dumps(decision.retries))
        elif decision is None:
            self._give_up(step, fault)

    def _give_up(self, step: Step, fault: Fault) -> None:
        if step.parent is None:
            self.end(step.execution, "FAILED", error=fault.error or None, cause=fault.cause or None)
            return
        around = self._around(step)
        if isinstance(self._state(around), MapState):
            around = self._history.iteration(around, "Failed", step.position)
        self._records.remove_step(step.id)
        self.fail(around, fault)

    def _drop_children(self, step: Step, state: State) -> None:
        for child in self._records.children(step.id):
            self._drop_children(child, self._state(child))
            if isinstance(state, MapState) and child.status not in ("held", "done"):
                self._history.iteration(step, "Aborted", child.position)
            self._records.remove_step(child.id)

    # --- entering

    def _enter(self, step: Step) -> Launch | None:
        state = self._state(step)
        if step.status == "ready":
            step = self._history.entered(step, state)
        token = f"{step.execution}-{step.id}-{secrets.token_hex(20)}"
        context, raw = self._context(step, token if isinstance(state, TaskState) else None), json.loads(step.input)
        try:
            decision = decide(state, raw, context, self._clock(), at_once=self._limits.items_at_once)
            return self._carry_out(step, state, decision, token)
        except Fault as fault:
            self.fail(step, fault)
            return None

    def _carry_out(self, step: Step, state: State, decision: Decision, token: str) -> Launch | None:
        match decision:
            case Leave():
                self._leave(step, decision)
            case Sleep():
                output = self._limits.fit(compact(decision.output), f"The output of '{step.state}'")
                self._move(step, status="sleeping", wake=decision.until, output=output)
            case Fork():
                self._fork(step, state, decision)
            case Invoke() if isinstance(state, TaskState):
                return self._launch(step, state, decision, token)
        return None

    def _launch(self, step: Step, state: TaskState, call: Invoke, token: str) -> Launch:
        parameters = self._limits.fit(compact(call.parameters), f"The Parameters of '{step.state}'")
        limits = {"timeoutInSeconds": call.timeout, "heartbeatInSeconds": call.heartbeat}
        step = self._history.scheduled(step, state, parameters, limits)
        expires = None if call.timeout is None else self._clock() + call.timeout
        wake = _wake(self._clock(), call.heartbeat, expires)
        status = "launching" if state.awaited else "calling"
        self._move(step, status=status, token=token, heartbeat=call.heartbeat, expires=expires, wake=wake)
        return Launch(token, call.function, call.payload, state.awaited)

    def _fork(self, step: Step, state: State, fork: Fork) -> None:
        inputs = [self._limits.fit(compact(child.input), f"The input of an item of '{step.state}'") for child in fork.children]
        length: dict[str, JsonValue] = {"length": len(fork.children)} if isinstance(state, MapState) else {}
        step = self._history.of_step(step, f"{state.type}StateStarted", length)
        for child, given in zip(fork.children, inputs, strict=True):
            self._add_child(step, state, child, given, runs=child.position < fork.at_once)
        self._move(step, status="children")

    def _add_child(self, step: Step, state: State, child: Child, given: str, *, runs: bool) -> None:
        if runs and isinstance(state, MapState):
            step = self._history.iteration(step, "Started", child.position)
        branch = child.position if isinstance(state, ParallelState) else 0
        self._records.add_step({
            "execution": step.execution, "parent": step.id, "position": child.position, "state": child.start_at,
            "scope": json.dumps([*step.scope, (step.state, branch)]), "context": compact({**step.context, **child.context}),
            "input": given, "status": "ready" if runs else "held", "wake": 0 if runs else None, "event": step.event,
        })  # fmt: skip

    # --- leaving

    def _leave_with(self, step: Step, state: State, result: JsonValue) -> None:
        assert isinstance(state, Producing)  # noqa: S101  (no other state has a result)
        output = output_of(state, json.loads(step.input), result, self._context(step, None))
        self._leave(step, Leave(output, state.next))

    def _leave(self, step: Step, leave: Leave) -> None:
        output = self._limits.fit(compact(leave.output), f"The output of '{step.state}'")
        step = self._history.exited(step, self._state(step), output)
        if leave.next is not None:
            self._move(step, state=leave.next, input=output, status="ready", wake=0, retries="{}", output=None)
        elif step.parent is None:
            self.end(step.execution, "SUCCEEDED", output=output)
        else:
            self._move(step, status="done", output=output)
            self._child_done(step)

    def _child_done(self, step: Step) -> None:
        around = self._around(step)
        state = self._state(around)
        if isinstance(state, MapState):
            around = self._history.iteration(around, "Succeeded", step.position)
        held = self._records.first_child(around.id, "held")
        if held is not None:
            around = self._history.iteration(around, "Started", held.position)
            self._records.set_step(held.id, status="ready", wake=0, event=around.event)
        elif self._records.all_done(around.id):
            self._join(around, state)

    def _join(self, step: Step, state: State) -> None:
        children = self._records.children(step.id)
        outputs = ",".join(child.output or "{}" for child in children)
        try:
            result = json.loads(self._limits.fit(f"[{outputs}]", f"The result of '{step.state}'"))
            step = self._history.of_step(step, f"{state.type}StateSucceeded", {})
            for child in children:
                self._records.remove_step(child.id)
            self._leave_with(step, state, result)
        except Fault as fault:
            self.fail(step, fault)

    # --- looking around

    def _execution(self, execution: int) -> Execution:
        found = self._records.execution(execution)
        if found is None:
            raise LookupError(f"the execution {execution} is gone while a step of it moves")
        return found

    def _around(self, step: Step) -> Step:
        found = self._records.step(step.parent or 0)
        if found is None:
            raise LookupError(f"the step around {step.state} is gone")
        return replace(found, event=step.event)

    def _state(self, step: Step) -> State:
        machine = self._parsed(self._execution(step.execution).definition)
        return definition.branch(machine, step.scope).states[step.state]

    def _context(self, step: Step, token: str | None) -> Context:
        execution = self._execution(step.execution)
        machine = self._records.machine(execution.machine)
        return context_of(execution, step, token, role=machine.role if machine else "")

    def _move(self, step: Step, **row: str | float | None) -> None:
        cleared: dict[str, str | float | None] = {"token": None, "heartbeat": None, "expires": None, "wake": None}
        self._records.set_step(step.id, **{**cleared, "event": step.event, "entered": step.entered, **row})


def _wake(now: float, heartbeat: float | None, expires: float | None) -> float | None:
    beat = None if heartbeat is None else now + heartbeat
    return min((moment for moment in (beat, expires) if moment is not None), default=None)

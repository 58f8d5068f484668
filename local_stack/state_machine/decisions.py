"""What a state does with its input: pure functions from (state, input, context, now) to a decision that others carry out."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from local_stack.state_machine import choices, intrinsics, paths, templates
from local_stack.state_machine.definition import (
    ChoiceState,
    FailState,
    MapState,
    ParallelState,
    PassState,
    Retrier,
    State,
    SucceedState,
    TaskState,
    WaitState,
)
from local_stack.state_machine.faults import NO_CHOICE, RUNTIME, Fault, matches
from local_stack.state_machine.fields import MOST_SECONDS
from local_stack.state_machine.moments import moment
from local_stack.state_machine.payload import compact

Context = dict[str, JsonValue]


@dataclass(frozen=True)
class Leave:
    """The state is over: its output, and the state that follows (None: the branch ends)."""

    output: JsonValue
    next: str | None


@dataclass(frozen=True)
class Sleep:
    """Leave with this output at that moment."""

    until: float
    output: JsonValue


@dataclass(frozen=True)
class Child:
    """One branch or item to run."""

    position: int
    start_at: str
    input: JsonValue
    context: Context


@dataclass(frozen=True)
class Fork:
    """Run the children, at most so many at once."""

    children: tuple[Child, ...]
    at_once: int


@dataclass(frozen=True)
class Invoke:
    """Call the function; seconds of heartbeat and time-out when there are any."""

    function: str
    payload: JsonValue
    parameters: JsonValue
    heartbeat: float | None
    timeout: float | None


Decision = Leave | Sleep | Fork | Invoke


def decide(state: State, raw: JsonValue, context: Context, now: float, *, at_once: int) -> Decision:
    """What entering the state leads to. ``at_once``: the most items an inline Map may run together. Else: Fault."""
    match state:
        case PassState():
            return _pass(state, raw, context)
        case SucceedState():
            return Leave(_out(state.output_path, _in(state.input_path, raw, context), context), None)
        case FailState():
            raise _failure(state, raw, context)
        case ChoiceState():
            return _choose(state, raw, context)
        case WaitState():
            return _wait(state, raw, context, now)
        case TaskState():
            return _invoke(state, raw, context)
        case ParallelState():
            return _parallel(state, raw, context)
        case MapState():
            return _map(state, raw, context, at_once)


def _in(path: str | None, raw: JsonValue, context: Context) -> JsonValue:
    return {} if path is None else paths.get(path, raw, context)


_out = _in


Producing = PassState | TaskState | ParallelState | MapState
"""The states that have a result."""


def output_of(state: Producing, raw: JsonValue, result: JsonValue, context: Context) -> JsonValue:
    """What the state hands on: its result selected, placed into the raw input and filtered."""
    selected = result
    if not isinstance(state, PassState) and state.has("result_selector"):
        selected = templates.filled(state.result_selector, result, context)
    placed = raw if state.result_path is None else paths.put(state.result_path, raw, selected)
    return _out(state.output_path, placed, context)


def _pass(state: PassState, raw: JsonValue, context: Context) -> Leave:
    effective = _in(state.input_path, raw, context)
    if state.has("parameters"):
        effective = templates.filled(state.parameters, effective, context)
    result = state.result if state.has("result") else effective
    return Leave(output_of(state, raw, result, context), state.next)


def _failure(state: FailState, raw: JsonValue, context: Context) -> Fault:
    return Fault(
        _text(state.error_path, raw, context) if state.error_path else state.error,
        _text(state.cause_path, raw, context) if state.cause_path else state.cause,
    )


def _text(expression: str, raw: JsonValue, context: Context) -> str:
    value = intrinsics.evaluate(intrinsics.parse(expression), raw, context)
    if not isinstance(value, str):
        raise Fault(RUNTIME, f"'{expression}' has to be a string, it is {compact(value)}")
    return value


def _choose(state: ChoiceState, raw: JsonValue, context: Context) -> Leave:
    effective = _in(state.input_path, raw, context)
    chosen = next((str(rule["Next"]) for rule in state.choices if choices.holds(rule, effective, context)), state.default)
    if chosen is None:
        raise Fault(NO_CHOICE, "No rule of the Choice holds and it has no Default")
    return Leave(_out(state.output_path, effective, context), chosen)


def _wait(state: WaitState, raw: JsonValue, context: Context, now: float) -> Sleep:
    effective = _in(state.input_path, raw, context)
    if state.has("timestamp") or state.timestamp_path:
        until = _moment(paths.get(state.timestamp_path, effective, context) if state.timestamp_path else state.timestamp)
    else:
        until = now + (_seconds(state.seconds_path, state.seconds, effective, context, least=0) or 0)
    return Sleep(until, _out(state.output_path, effective, context))


def _moment(value: JsonValue) -> float:
    found = moment(value)
    if found is None:
        raise Fault(RUNTIME, f"{compact(value)} is no timestamp such as 2030-01-31T12:00:00Z")
    return found.timestamp()


def _seconds(path: str | None, literal: int | None, value: JsonValue, context: Context, *, least: int) -> int | None:
    if path is None:
        return literal
    found = paths.get(path, value, context)
    if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= MOST_SECONDS:
        raise Fault(RUNTIME, f"'{path}' has to be a whole number from {least} to {MOST_SECONDS}, it is {compact(found)}")
    return found


def _invoke(state: TaskState, raw: JsonValue, context: Context) -> Invoke:
    effective = _in(state.input_path, raw, context)
    parameters = templates.filled(state.parameters, effective, context)
    function = parameters.get("FunctionName") if isinstance(parameters, dict) else None
    if not isinstance(parameters, dict) or not isinstance(function, str):
        raise Fault(RUNTIME, "FunctionName has to be a string")
    return Invoke(
        function=function.split(":function:")[-1].split(":")[0],
        payload=parameters.get("Payload", {}),
        parameters=parameters,
        heartbeat=_seconds(state.heartbeat_seconds_path, state.heartbeat_seconds, effective, context, least=1),
        timeout=_seconds(state.timeout_seconds_path, state.timeout_seconds, effective, context, least=1),
    )


def _parallel(state: ParallelState, raw: JsonValue, context: Context) -> Fork:
    effective = _in(state.input_path, raw, context)
    given = templates.filled(state.parameters, effective, context) if state.has("parameters") else effective
    return Fork(tuple(Child(i, branch.start_at, given, {}) for i, branch in enumerate(state.branches)), len(state.branches))


def _map(state: MapState, raw: JsonValue, context: Context, at_once: int) -> Decision:
    effective = _in(state.input_path, raw, context)
    items = paths.get(state.items_path, effective, context)
    if not isinstance(items, list):
        raise Fault(RUNTIME, f"The ItemsPath '{state.items_path}' has to lead to an array")
    wished = _seconds(state.max_concurrency_path, state.max_concurrency, effective, context, least=0) or at_once
    children = tuple(_item(state, i, item, effective, context) for i, item in enumerate(items))
    return Fork(children, min(wished, at_once)) if items else Leave(output_of(state, raw, [], context), state.next)


def _item(state: MapState, index: int, item: JsonValue, effective: JsonValue, context: Context) -> Child:
    own: Context = {"Map": {"Item": {"Index": index, "Value": item}}}
    given = templates.filled(state.item_selector, effective, {**context, **own}) if state.has("item_selector") else item
    return Child(index, state.item_processor.start_at, given, own)


@dataclass(frozen=True)
class Again:
    """Enter the state once more after so many seconds; ``retries`` counts the uses of each retrier."""

    after: float
    retries: dict[str, int]


def _delay(retrier: Retrier, used: int) -> float:
    most = retrier.max_delay_seconds or MOST_SECONDS
    try:
        return min(retrier.interval_seconds * retrier.backoff_rate**used, most)
    except OverflowError:
        return most


def on_fault(state: State, fault: Fault, raw: JsonValue, retries: Mapping[str, int], jitter: float) -> Again | Leave | None:
    """What Retry and Catch make of the fault; None when nothing there is meant for it. ``jitter`` lies in [0, 1)."""
    if not isinstance(state, TaskState | ParallelState | MapState):
        return None
    for number, retrier in enumerate(state.retry):
        if matches(retrier.error_equals, fault.error):
            used = retries.get(str(number), 0)
            if used >= retrier.max_attempts:
                break
            factor = jitter if retrier.jitter_strategy == "FULL" else 1
            return Again(_delay(retrier, used) * factor, {**retries, str(number): used + 1})
    for catcher in state.catch:
        if matches(catcher.error_equals, fault.error):
            error: JsonValue = {"Error": fault.error, "Cause": fault.cause}
            return Leave(raw if catcher.result_path is None else paths.put(catcher.result_path, raw, error), catcher.next)
    return None

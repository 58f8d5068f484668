"""What the project asks of a definition beyond what AWS and the interpreter ask.

``python -m local_stack.state_machine.lint FILE`` prints the findings.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import JsonValue

from chalicelib.domain import errors
from local_stack.state_machine import definition
from local_stack.state_machine.definition import Branch, FailState, MapState, ParallelState, State, TaskState
from local_stack.state_machine.faults import RESERVED, RUNTIME

_TOKEN = "$$.Task.Token"  # noqa: S105  (the name of a path)
_OF_LAMBDA = frozenset({
    "Lambda.ServiceException", "Lambda.AWSLambdaException", "Lambda.SdkClientException", "Lambda.TooManyRequestsException",
    "Lambda.ClientExecutionTimeoutException", "Lambda.ResourceNotFoundException", "Lambda.Unknown",
})  # fmt: skip


def findings(text: str) -> list[str]:
    """One sentence per fault, naming the state; none for a definition that AWS and the interpreter run alike and that
    keeps large answers and lost tokens out of an execution."""
    try:
        machine = definition.parse(text)
    except definition.InvalidDefinition as error:
        return str(error).splitlines()
    found = [f"{name}: {fault}" for name, state in definition.all_states(machine) for fault in _faults(state)]
    return [*found, *_unreachable(machine), *_repeated(text)]


def _faults(state: State) -> Iterator[str]:
    if isinstance(state, TaskState):
        for rule in _OF_TASKS:
            yield from rule(state)
    if isinstance(state, TaskState | MapState | ParallelState):
        clauses = [retrier.error_equals for retrier in state.retry] + [catcher.error_equals for catcher in state.catch]
        unknown = [name for names in clauses for name in names if not _is_known(name)]
        yield from (f"{name} is no error of AWS and none of domain/errors.py" for name in unknown)
        if any(RUNTIME in names for names in clauses):
            yield f"{RUNTIME} cannot be retried or caught"
    if isinstance(state, FailState) and (state.error.startswith("States.") or (state.error_path or "").endswith(".Error")):
        yield "it may report a name that begins with States., which only AWS may do; name an error of its own"
    if isinstance(state, MapState) and state.max_concurrency > 40:
        yield "MaxConcurrency is above 40, which an inline Map never reaches"


def _is_known(name: str) -> bool:
    if name.startswith("States."):
        return name in RESERVED
    return name in _OF_LAMBDA or isinstance(getattr(errors, name, None), type)


def _token_where_awaited(state: TaskState) -> Iterator[str]:
    has = _TOKEN in _payload_values(state.parameters)
    if state.awaited and not has:
        yield f"it waits for a token and its Payload does not carry {_TOKEN}"
    if has and not state.awaited:
        yield "its Payload carries a token that nothing waits for"


def _payload_values(parameters: JsonValue) -> list[JsonValue]:
    payload = parameters.get("Payload") if isinstance(parameters, dict) else None
    return list(payload.values()) if isinstance(payload, dict) else []


def _has_an_end(state: TaskState) -> Iterator[str]:
    limits = (state.timeout_seconds, state.timeout_seconds_path, state.heartbeat_seconds, state.heartbeat_seconds_path)
    if not any(limits):
        yield "it has neither a time-out nor a heartbeat, so a lost answer would be waited for for ever"


def _drops_the_envelope(state: TaskState) -> Iterator[str]:
    if state.result_path is not None and not state.has("result_selector"):
        yield "it keeps Lambda's whole answer; give it a ResultSelector or ResultPath null"


_OF_TASKS: tuple[Callable[[TaskState], Iterator[str]], ...] = (_token_where_awaited, _has_an_end, _drops_the_envelope)


def _unreachable(branch: Branch) -> Iterator[str]:
    reached, todo = set[str](), [branch.start_at]
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo += branch.states[name].followers
    yield from (f"{name}: no state leads there" for name in branch.states if name not in reached)
    for state in branch.states.values():
        inner = state.branches if isinstance(state, ParallelState) else ()
        for below in (state.item_processor,) if isinstance(state, MapState) else inner:
            yield from _unreachable(below)


def _repeated(text: str) -> list[str]:
    found: list[str] = []

    def note(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
        names = [name for name, _ in pairs]
        found.extend(f"{name}: the name appears twice in one object" for name in sorted({n for n in names if names.count(n) > 1}))
        return dict(pairs)

    json.loads(text, object_pairs_hook=note)
    return found


def main(arguments: list[str]) -> int:
    """Print the findings of the files; 1 when there is one."""
    found = [f"{name}: {line}" for name in arguments for line in findings(Path(name).read_text())]
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

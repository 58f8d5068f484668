"""The context object: what ``$$`` paths look into."""

import json
from datetime import UTC, datetime

from pydantic import JsonValue

from local_stack.state_machine.decisions import Context
from local_stack.state_machine.records import Execution, Step


def context_of(execution: Execution, step: Step, token: str | None, *, role: str) -> Context:
    """The context of a step in its execution; ``token`` is ``$$.Task.Token``."""
    run: dict[str, JsonValue] = {"Id": execution.arn, "Name": execution.name, "Input": json.loads(execution.input)}
    machine: dict[str, JsonValue] = {"Id": execution.machine, "Name": execution.machine.rsplit(":", 1)[-1]}
    state: dict[str, JsonValue] = {"Name": step.state, "EnteredTime": _iso(step.entered or 0)}
    run["StartTime"], run["RoleArn"] = _iso(execution.started), role
    state["RetryCount"] = sum(step.retries.values())
    context: Context = {"Execution": run, "StateMachine": machine, "State": state, **step.context}
    return {**context, "Task": {"Token": token}} if token else context


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

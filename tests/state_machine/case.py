"""What a case is: a small machine, and what AWS makes of it."""

from dataclasses import dataclass, field

from pydantic import JsonValue

from tests.state_machine.builders import Json, machine, passing, task


@dataclass(frozen=True)
class Case:
    """A machine, its input, and what comes of it: output or error, the states entered, the seconds that pass."""

    definition: Json
    given: JsonValue = field(default_factory=dict)
    output: JsonValue = None
    error: str | None = None
    seconds: float | None = None
    states: str = "A"
    inside: bool = True
    """Whether chance has no say in which states of branches and items are entered."""


FAILS: Json = {"Type": "Fail", "Error": "Item"}
ECHO = task("echo", {"a.$": "$.a"}, OutputPath="$.Payload")
WAITS: Json = {"Type": "Wait", "Seconds": 6, "End": True}


def mapping(states: Json, **fields: JsonValue) -> Json:
    """A Map whose items start at P."""
    return {"Type": "Map", "ItemProcessor": {"StartAt": "P", "States": states}, "End": True, **fields}


def branching(*firsts: Json, **fields: JsonValue) -> Json:
    """A Parallel whose branches have one state each: B0, B1 and so on."""
    branches: list[JsonValue] = [{"StartAt": f"B{i}", "States": {f"B{i}": first}} for i, first in enumerate(firsts)]
    state: Json = {"Type": "Parallel", "Branches": branches, **fields}
    return state if "Next" in fields else {**state, "End": True}


def choosing(rule: Json) -> Json:
    """A machine that goes to Yes when the rule holds, else to No."""
    return machine({"Type": "Choice", "Choices": [{**rule, "Next": "Yes"}], "Default": "No"}, Yes=passing(), No=passing())

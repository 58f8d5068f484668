"""What AWS answers to small machines: status, output, the states entered and the time that passes."""

import json
from collections.abc import Iterator

import pytest
from pydantic import JsonValue

from local_stack.state_machine.limits import Limits
from tests.state_machine.builders import Json, Simulation, awaited, catching, machine, passing, retrying, task
from tests.state_machine.cases import CASES, FAILS, WAITS, Case, branching, choosing, mapping
from tests.state_machine.functions import Functions


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    found = Simulation()
    Functions(found)
    yield found
    found.close()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_machine_ends_as_in_aws(case: Case, simulation: Simulation) -> None:
    ended = simulation.run(case.definition, case.given)
    wanted = ("FAILED" if case.error else "SUCCEEDED", case.output, case.error, case.states)
    status = "FAILED" if ended.status == "TIMED_OUT" else ended.status
    assert (status, ended.output, ended.error, " ".join(ended.states)) == wanted
    assert case.seconds is None or ended.seconds == pytest.approx(case.seconds)


INTRINSICS: dict[str, JsonValue] = {
    "States.Format('{}-{}', $.x, 2)": "q-2",
    "States.Format('it\\'s \\{{}\\}', $.m)": 'it\'s {{"a":1}}',
    "States.Array($.x, 2, true, null)": ["q", 2, True, None],
    "States.ArrayPartition($.xs, 2)": [[1, 2], [3, 3]],
    "States.ArrayContains($.xs, 2)": True,
    "States.ArrayRange(1, 5, 2)": [1, 3, 5],
    "States.ArrayGetItem($.xs, 1)": 2,
    "States.ArrayLength($.xs)": 4,
    "States.ArrayUnique($.xs)": [1, 2, 3],
    "States.Base64Encode('x')": "eA==",
    "States.Base64Decode('eA==')": "x",
    "States.Hash('a', 'SHA-256')": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
    "States.JsonMerge($.m, $.n, false)": {"a": 1, "b": 2},
    "States.StringToJson('[1]')": [1],
    "States.JsonToString($.m)": '{"a":1}',
    "States.MathAdd(1, -3)": -2,
    "States.MathRandom(4, 5)": 4,
    "States.StringSplit('a,b;c', ',;')": ["a", "b", "c"],
    "States.ArrayLength(States.StringSplit(States.Format('{},{}', 1, 2), ','))": 2,
    "States.ArrayLength(States.Array(States.UUID()))": 1,
}


@pytest.mark.parametrize("expression", INTRINSICS)
def test_an_intrinsic_function_gives_what_aws_gives(expression: str, simulation: Simulation) -> None:
    given: Json = {"x": "q", "xs": [1, 2, 3, 3], "m": {"a": 1}, "n": {"b": 2}}
    assert simulation.run(machine(passing(Parameters={"r.$": expression})), given).output == {"r": INTRINSICS[expression]}


RULES: list[tuple[Json, JsonValue, bool]] = [
    ({"Variable": "$.x", "IsPresent": True}, {"x": None}, True),
    ({"Variable": "$.x", "IsPresent": True}, {}, False),
    ({"Variable": "$.x", "IsPresent": False}, {}, True),
    ({"Variable": "$.x", "IsNull": True}, {"x": None}, True),
    ({"Variable": "$.x", "IsNumeric": True}, {"x": True}, False),
    ({"Variable": "$.x", "IsBoolean": True}, {"x": True}, True),
    ({"Variable": "$.x", "IsString": False}, {"x": 1}, True),
    ({"Variable": "$.x", "IsTimestamp": True}, {"x": "2026-01-01T00:00:00Z"}, True),
    ({"Variable": "$.x", "NumericEquals": 3}, {"x": 3.0}, True),
    ({"Variable": "$.x", "NumericEquals": 1}, {"x": True}, False),
    ({"Variable": "$.x", "NumericGreaterThan": 3}, {"x": 3}, False),
    ({"Variable": "$.x", "NumericLessThanEqualsPath": "$.y"}, {"x": 3, "y": 3}, True),
    ({"Variable": "$.x", "StringEquals": "1"}, {"x": 1}, False),
    ({"Variable": "$.x", "StringLessThan": "b"}, {"x": "a"}, True),
    ({"Variable": "$.x", "StringMatches": "log-*.tx?"}, {"x": "log-1.tx?"}, True),
    ({"Variable": "$.x", "StringMatches": "a\\*"}, {"x": "ab"}, False),
    ({"Variable": "$.x", "BooleanEquals": True}, {"x": True}, True),
    ({"Variable": "$.x", "TimestampLessThan": "2026-01-01T01:00:00+01:00"}, {"x": "2025-12-31T23:59:00Z"}, True),
    ({"And": [{"Variable": "$.x", "IsPresent": True}, {"Variable": "$.x", "NumericEquals": 1}]}, {"x": 1}, True),
    ({"And": [{"Variable": "$.x", "IsPresent": True}, {"Variable": "$.x", "NumericEquals": 1}]}, {}, False),
    ({"Or": [{"Variable": "$.x", "NumericEquals": 2}, {"Variable": "$.x", "NumericEquals": 1}]}, {"x": 1}, True),
    ({"Not": {"Variable": "$.x", "NumericEquals": 2}}, {"x": 1}, True),
]


@pytest.mark.parametrize(("rule", "given", "holds"), RULES)
def test_a_choice_rule_holds_as_in_aws(rule: Json, given: JsonValue, holds: bool, simulation: Simulation) -> None:
    assert simulation.run(choosing(rule), given).states == ["A", "Yes" if holds else "No"]


@pytest.mark.parametrize(("fields", "most"), [({"MaxConcurrency": 3}, 3), ({"MaxConcurrencyPath": "$.most"}, 2), ({}, 40)])
def test_a_map_runs_no_more_items_at_once_than_it_may(fields: Json, most: int, simulation: Simulation) -> None:
    given: Json = {"xs": list(range(100)), "most": 2}
    simulation.run(machine(mapping({"P": task("sleeper", {"s": 1})}, ItemsPath="$.xs", **fields)), given)
    assert simulation.most_running == most


def test_a_retry_gives_a_new_token() -> None:
    simulation = Simulation()
    functions = Functions(simulation)
    simulation.run(machine(awaited("launcher", {"mode": "fail"}, Retry=retrying("WorkerCrashed", MaxAttempts=1))))
    assert len(set(functions.tokens)) == 2
    simulation.close()


def test_a_payload_above_the_limit_ends_the_execution_past_a_catch_of_all(simulation: Simulation) -> None:
    simulation.functions["big"] = lambda _: "x" * 300_000
    ended = simulation.run(machine(task("big", Catch=catching("States.ALL")), B=passing()))
    assert (ended.status, ended.error) == ("FAILED", "States.DataLimitExceeded")


def test_the_limit_counts_bytes_and_not_characters(simulation: Simulation) -> None:
    simulation.functions["big"] = lambda _: "é" * 140_000
    assert simulation.run(machine(task("big"))).error == "States.DataLimitExceeded"


def test_outputs_of_a_map_are_limited_together(simulation: Simulation) -> None:
    given: JsonValue = [{"a": "x" * 30_000}] * 8
    ended = simulation.run(machine(mapping({"P": passing(Parameters={"a.$": "$.a", "b.$": "$.a"})})), given)
    assert ended.error == "States.DataLimitExceeded"


def test_a_history_ends_with_its_last_event_as_a_failure() -> None:
    simulation = Simulation(limits=Limits(events=50))
    ended = simulation.run(machine(passing(Next="A")))
    assert (ended.error, len(ended.events), ended.types[-1]) == ("States.Runtime", 50, "ExecutionFailed")
    simulation.close()


def test_an_ended_execution_leaves_no_step_behind(simulation: Simulation) -> None:
    simulation.run(machine(branching(machine(FAILS), machine(mapping({"P": WAITS})))), [1, 2])
    assert simulation.records.next_wake() is None


def test_a_history_tells_of_a_map_in_the_words_of_aws(simulation: Simulation) -> None:
    ended = simulation.run(machine(mapping({"P": task("echo")})), [1])
    assert ended.types == [
        "ExecutionStarted", "MapStateEntered", "MapStateStarted", "MapIterationStarted", "TaskStateEntered", "TaskScheduled",
        "TaskStarted", "TaskSucceeded", "TaskStateExited", "MapIterationSucceeded", "MapStateSucceeded", "MapStateExited",
        "ExecutionSucceeded",
    ]  # fmt: skip


def test_an_update_changes_only_executions_that_start_later(simulation: Simulation) -> None:
    arn = simulation.operations.install("m", json.dumps(machine(WAITS)))
    running = simulation.operations.start_execution(arn, "old", "{}")
    simulation.operations.update_machine(arn, '{"StartAt":"F","States":{"F":{"Type":"Fail"}}}', None)
    simulation.run_out(running.arn)
    assert simulation.outcome(running.arn).status == "SUCCEEDED"

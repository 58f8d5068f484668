"""What AWS answers to small machines: status, output, the states entered and the time that passes."""

import json
from collections.abc import Iterator

import pytest
from pydantic import JsonValue

from local_stack.state_machine.limits import Limits
from tests.state_machine.builders import Json, Simulation, catching, machine, passing, retrying, task
from tests.state_machine.case import FAILS, WAITS, Case, branching, mapping
from tests.state_machine.cases import CASES
from tests.state_machine.functions import Functions


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    found = Simulation()
    found.functions |= Functions(found).by_name
    yield found
    found.close()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_machine_ends_as_in_aws(case: Case, simulation: Simulation) -> None:
    ended = simulation.run(case.definition, case.given)
    wanted = ("SUCCEEDED" if case.error is None else "FAILED", case.output, case.error or None, case.states)
    status = "FAILED" if ended.status == "TIMED_OUT" else ended.status
    assert (status, ended.output, ended.error, " ".join(ended.states)) == wanted
    assert case.seconds is None or ended.seconds == pytest.approx(case.seconds)


@pytest.mark.parametrize(("fields", "most"), [({"MaxConcurrency": 3}, 3), ({"MaxConcurrencyPath": "$.most"}, 2), ({}, 40)])
def test_a_map_runs_no_more_items_at_once_than_it_may(fields: Json, most: int, simulation: Simulation) -> None:
    given: Json = {"xs": list(range(100)), "most": 2}
    simulation.run(machine(mapping({"P": task("sleeper", {"s": 1})}, ItemsPath="$.xs", **fields)), given)
    assert simulation.most_running == most


def test_the_limits_are_those_of_aws() -> None:
    assert (Limits().payload_bytes, Limits().events, Limits().items_at_once) == (262_144, 25_000, 40)


@pytest.mark.parametrize(("more", "error"), [("", None), ("x", "States.DataLimitExceeded")])
def test_a_payload_may_be_as_large_as_aws_says_and_no_byte_larger(more: str, error: str | None, simulation: Simulation) -> None:
    half = "x" * (Limits().payload_bytes // 2 - 1)  # the two quotes count too
    doubled = passing(Parameters={"t.$": f"States.Format('{{}}{{}}{more}', $, $)"}, OutputPath="$.t")
    assert simulation.run(machine(doubled), half).error == error


LARGE: Json = {"a": "x" * 200_000}
TOO_LARGE: dict[str, tuple[Json, JsonValue]] = {
    "the_parameters_of_a_task": (machine(task("echo", {"a.$": "$.a", "b.$": "$.a"})), LARGE),
    "the_answer_of_a_function": (machine(task("echo", {"a.$": "$.a"}, ResultPath="$.r")), LARGE),
    "the_input_of_an_item": (machine(mapping({"P": passing()}, ItemSelector={"a.$": "$[0]", "b.$": "$[0]"})), ["x" * 200_000]),
    "the_error_that_a_catch_keeps": (
        machine(task("boom", {}, Catch=catching("CustomErr", ResultPath="$.e")), B=passing()), {"a": "x" * 262_100},
    ),
}  # fmt: skip


@pytest.mark.parametrize("place", TOO_LARGE)
def test_a_payload_that_grows_too_large_is_seen_in_every_place(place: str, simulation: Simulation) -> None:
    definition, given = TOO_LARGE[place]
    assert simulation.run(definition, given).error == "States.DataLimitExceeded"


def test_data_that_grew_too_large_can_be_caught_by_its_own_name(simulation: Simulation) -> None:
    simulation.functions["big"] = lambda _: "x" * 300_000
    caught = task("big", Catch=[*catching("States.DataLimitExceeded"), *catching("States.ALL", to="C")])
    assert simulation.run(machine(caught, B=passing(Result=1), C=passing())).output == 1


def test_a_wait_between_retries_never_grows_past_what_numbers_hold(simulation: Simulation) -> None:
    retries = retrying("States.ALL", IntervalSeconds=1, BackoffRate=10, MaxDelaySeconds=1, MaxAttempts=400)
    ended = simulation.run(machine(task("flaky", {"n": 401}, Retry=retries, ResultPath=None)))
    assert (ended.status, ended.seconds) == ("SUCCEEDED", 400)


def test_a_state_that_the_interpreter_cannot_run_ends_only_its_own_execution(simulation: Simulation) -> None:
    # A lone surrogate is JSON and no UTF-8: nothing can be written of it.
    arn = simulation.operations.install("m", json.dumps(machine(passing(Parameters={"a.$": "States.StringToJson($.t)"}))))
    broken = simulation.operations.start_execution(arn, "broken", json.dumps({"t": '"\\ud800"'}))
    healthy = simulation.operations.start_execution(arn, "healthy", '{"t":"1"}')
    simulation.run_out(broken.arn)
    simulation.run_out(healthy.arn)
    ends = simulation.outcome(broken.arn), simulation.outcome(healthy.arn)
    assert [(end.status, end.error) for end in ends] == [("FAILED", "States.Runtime"), ("SUCCEEDED", None)]


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
    simulation.run(machine(branching(FAILS, mapping({"P": WAITS}))), [1, 2])
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

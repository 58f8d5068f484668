"""Small machines, and what AWS makes of each: output or error, the states entered, and the seconds that pass."""

from dataclasses import dataclass, field

from pydantic import JsonValue

from tests.state_machine.builders import Json, awaited, catching, machine, passing, retrying, task


@dataclass(frozen=True)
class Case:
    """A machine, its input, and what comes of it."""

    definition: Json
    given: JsonValue = field(default_factory=dict)
    output: JsonValue = None
    error: str | None = None
    seconds: float | None = None
    states: str = "A"


FAILS: Json = {"Type": "Fail", "Error": "Item"}
ECHO = task("echo", {"a.$": "$.a"}, OutputPath="$.Payload")
WAITS: Json = {"Type": "Wait", "Seconds": 6, "End": True}


def mapping(states: Json, **fields: JsonValue) -> Json:
    """A Map whose items start at P."""
    return {"Type": "Map", "ItemProcessor": {"StartAt": "P", "States": states}, "End": True, **fields}


def branching(*branches: Json, **fields: JsonValue) -> Json:
    """A Parallel of these machines."""
    return {"Type": "Parallel", "Branches": list(branches), "End": True, **fields}


def choosing(rule: Json) -> Json:
    """A machine that goes to Yes when the rule holds, else to No."""
    return machine({"Type": "Choice", "Choices": [{**rule, "Next": "Yes"}], "Default": "No"}, Yes=passing(), No=passing())


CASES = {
    "pass_gives_its_result_where_result_path_says": Case(
        machine(passing(Result={"n": 5}, ResultPath="$.r.deep")), {"x": 1}, {"x": 1, "r": {"deep": {"n": 5}}}
    ),
    "pass_with_null_result_path_keeps_its_input": Case(machine(passing(Result=1, ResultPath=None)), {"x": 1}, {"x": 1}),
    "null_output_path_gives_an_empty_object": Case(machine(passing(OutputPath=None)), {"x": 1}, {}),
    "null_input_path_gives_an_empty_object": Case(machine(passing(InputPath=None)), {"x": 1}, {}),
    "input_path_selects": Case(machine(passing(InputPath="$.a['b c'][1]")), {"a": {"b c": [1, [2]]}}, [2]),
    "integers_of_any_size_stay_exact": Case(machine(passing()), 2**70 + 1, 2**70 + 1),
    "wait_takes_its_seconds": Case(machine({"Type": "Wait", "Seconds": 3, "End": True}), {"x": 1}, {"x": 1}, seconds=3),
    "wait_takes_the_seconds_of_a_path": Case(
        machine({"Type": "Wait", "SecondsPath": "$.s", "End": True}), {"s": 7}, {"s": 7}, seconds=7
    ),
    "wait_ends_at_a_timestamp": Case(
        machine({"Type": "Wait", "Timestamp": "1970-01-12T13:46:50Z", "End": True}), {}, {}, seconds=10
    ),
    "wait_until_the_past_ends_at_once": Case(
        machine({"Type": "Wait", "TimestampPath": "$", "End": True}), "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", seconds=0
    ),
    "succeed_filters_its_output": Case(machine({"Type": "Succeed", "InputPath": "$.a"}), {"a": 3}, 3),
    "fail_says_error_and_cause_by_paths": Case(
        machine({"Type": "Fail", "ErrorPath": "$.e", "CausePath": "States.Format('because {}', $.c)"}),
        {"e": "E1", "c": 1},
        error="E1",
    ),
    "a_function_gets_its_payload_and_its_answer_comes_back": Case(machine(ECHO), {"a": 7}, {"a": 7}),
    "a_result_selector_picks_from_the_envelope": Case(
        machine(task("echo", {"k": 4}, ResultSelector={"got.$": "$.Payload.k", "status.$": "$.StatusCode"}, ResultPath="$.r")),
        {"x": 1},
        {"x": 1, "r": {"got": 4, "status": 200}},
    ),
    "a_raised_error_is_caught_by_its_class_name": Case(
        machine(task("boom", Catch=catching("CustomErr", ResultPath="$.err")), B=passing()),
        {"k": 1},
        {"k": 1, "err": {"Error": "CustomErr", "Cause": '{"errorMessage":"it broke","errorType":"CustomErr"}'}},
        states="A B",
    ),
    "a_catch_with_null_result_path_keeps_the_input": Case(
        machine(task("boom", Catch=catching("States.ALL", ResultPath=None)), B=passing()), {"k": 1}, {"k": 1}, states="A B"
    ),
    "task_failed_matches_whatever_a_function_raises": Case(
        machine(task("boom", Catch=catching("States.TaskFailed")), B=passing(Result=1)), {}, 1, states="A B"
    ),
    "the_first_catch_that_matches_is_taken": Case(
        machine(
            task("boom", Catch=[*catching("Other", to="C"), *catching("CustomErr"), *catching("States.ALL", to="C")]),
            B=passing(Result="b"),
            C=passing(Result="c"),
        ),
        {},
        "b",
        states="A B",
    ),
    "an_error_nobody_catches_fails_the_execution": Case(
        machine(task("boom", Catch=catching("Other")), B=passing()), error="CustomErr"
    ),
    "retry_waits_longer_each_time": Case(
        machine(task("flaky", {"n": 4}, Retry=retrying("CustomErr", IntervalSeconds=1), OutputPath="$.Payload")),
        {},
        {"tries": 4},
        seconds=1 + 2 + 4,
    ),
    "retry_waits_no_longer_than_its_most": Case(
        machine(
            task(
                "flaky",
                {"n": 4},
                Retry=retrying("States.ALL", IntervalSeconds=1, BackoffRate=10, MaxDelaySeconds=2),
                OutputPath="$.Payload",
            )
        ),
        {},
        {"tries": 4},
        seconds=1 + 2 + 2,
    ),
    "full_jitter_shortens_the_wait": Case(
        machine(
            task(
                "flaky", {"n": 2}, Retry=retrying("States.ALL", IntervalSeconds=8, JitterStrategy="FULL"), OutputPath="$.Payload"
            )
        ),
        {},
        {"tries": 2},
        seconds=4,
    ),
    "retry_ends_after_three_attempts_and_the_catch_is_taken": Case(
        machine(
            task("flaky", {"n": 9}, Retry=retrying("CustomErr", BackoffRate=1), Catch=catching("States.ALL")), B=passing(Result=1)
        ),
        {},
        1,
        seconds=3,
        states="A B",
    ),
    "no_attempts_means_no_retry": Case(
        machine(task("flaky", {"n": 2}, Retry=retrying("States.ALL", MaxAttempts=0))), error="CustomErr", seconds=0
    ),
    "a_slow_function_meets_the_time_out": Case(
        machine(task("sleeper", {"s": 5}, TimeoutSeconds=1, Catch=catching("States.Timeout")), B=passing(Result="late")),
        {},
        "late",
        seconds=1,
        states="A B",
    ),
    "task_failed_does_not_match_a_time_out": Case(
        machine(task("sleeper", {"s": 5}, TimeoutSeconds=1, Catch=catching("States.TaskFailed")), B=passing()),
        error="States.Timeout",
    ),
    "a_time_out_may_come_from_the_input": Case(
        machine(task("sleeper", {"s": 5}, TimeoutSecondsPath="$.t")), {"t": 2}, error="States.Timeout", seconds=2
    ),
    "the_machine_has_a_time_out_of_its_own": Case({"TimeoutSeconds": 2, **machine(WAITS)}, error="States.Timeout", seconds=2),
    "a_path_that_leads_nowhere_is_not_caught_by_all": Case(
        machine(passing(InputPath="$.nowhere", Next="B"), B=passing()), error="States.Runtime"
    ),
    "a_parameter_that_leads_nowhere_has_an_error_of_its_own": Case(
        machine(task("echo", {"a.$": "$.nowhere"}, Catch=catching("States.ParameterPathFailure")), B=passing(Result=1)),
        {},
        1,
        states="A B",
    ),
    "a_result_path_that_does_not_fit_the_input_fails": Case(
        machine(passing(Result=1, ResultPath="$.a")), [1], error="States.ResultPathMatchFailure"
    ),
    "an_intrinsic_function_that_fails_says_so": Case(
        machine(passing(Parameters={"a.$": "States.StringToJson('{')"})), error="States.IntrinsicFailure"
    ),
    "no_rule_and_no_default": Case(
        machine({"Type": "Choice", "Choices": [{"Variable": "$.x", "IsPresent": True, "Next": "B"}]}, B=passing()),
        error="States.NoChoiceMatched",
    ),
    "a_choice_on_what_is_not_there_is_a_runtime_error": Case(
        choosing({"Variable": "$.x", "NumericEquals": 1}), error="States.Runtime"
    ),
    "map_gives_each_item_its_selection_in_order": Case(
        machine(
            mapping(
                {"P": passing()},
                ItemsPath="$.xs",
                MaxConcurrency=2,
                ItemSelector={"v.$": "$$.Map.Item.Value", "i.$": "$$.Map.Item.Index", "g.$": "$.g"},
            )
        ),
        {"xs": ["a", "b", "c"], "g": 9},
        [{"v": "a", "i": 0, "g": 9}, {"v": "b", "i": 1, "g": 9}, {"v": "c", "i": 2, "g": 9}],
        states="A P P P",
    ),
    "map_over_nothing_gives_nothing": Case(machine(mapping({"P": passing()}, ItemsPath="$.xs")), {"xs": []}, []),
    "map_over_no_array_fails": Case(machine(mapping({"P": passing()}, ItemsPath="$.xs")), {"xs": 1}, error="States.Runtime"),
    "map_stops_at_once_when_an_item_fails": Case(
        machine(
            mapping(
                {
                    "P": {"Type": "Choice", "Choices": [{"Variable": "$", "NumericEquals": 0, "Next": "F"}], "Default": "W"},
                    "F": FAILS,
                    "W": WAITS,
                },
                ItemsPath="$.xs",
                Catch=catching("States.ALL"),
            ),
            B=passing(),
        ),
        {"xs": [0, 1, 2]},
        {"Error": "Item", "Cause": ""},
        seconds=0,
        states="A P P P F B",
    ),
    "a_map_inside_a_map_sees_its_own_item": Case(
        machine(mapping({"P": mapping({"P": passing()}, ItemSelector={"v.$": "$$.Map.Item.Value"})})),
        [[1, 2], [3]],
        [[{"v": 1}, {"v": 2}], [{"v": 3}]],
        states="A P P P P P",
    ),
    "parallel_runs_its_branches_together": Case(
        machine(branching(*[machine(task("sleeper", {"s": 4}, OutputPath="$.StatusCode"))] * 2)),
        {},
        [200, 200],
        seconds=4,
        states="A A A",
    ),
    "parallel_stops_at_once_when_a_branch_fails": Case(
        machine(branching(machine(FAILS), machine(WAITS), Catch=catching("Item")), B=passing(Result="c")),
        {},
        "c",
        seconds=0,
        states="A A B",
    ),
    "parallel_is_retried_whole": Case(
        machine(branching(machine(task("flaky", {"n": 2}, OutputPath="$.Payload")), Retry=retrying("States.ALL"))),
        {},
        [{"tries": 2}],
        seconds=1,
        states="A A A",
    ),
    "a_succeed_in_a_branch_ends_only_the_branch": Case(
        machine(branching(machine({"Type": "Succeed"}), Next="B") | {"End": False}, B=passing()),
        {"x": 1},
        [{"x": 1}],
        states="A A B",
    ),
    "a_token_ends_the_task_with_its_output": Case(
        machine(awaited("launcher", {"mode": "success", "id": 1})), {}, {"ok": 1}, seconds=0.5
    ),
    "a_token_fails_the_task_with_its_error": Case(
        machine(awaited("launcher", {"mode": "fail"}, Catch=catching("WorkerCrashed")), B=passing()),
        {},
        {"Error": "WorkerCrashed", "Cause": "exit 137"},
        states="A B",
    ),
    "a_function_that_raises_fails_the_awaited_task": Case(
        machine(awaited("boom", Catch=catching("CustomErr")), B=passing(Result="c")), {}, "c", seconds=0, states="A B"
    ),
    "silence_is_a_heartbeat_time_out": Case(
        machine(
            awaited(
                "launcher",
                {"mode": "dead"},
                HeartbeatSeconds=1,
                TimeoutSeconds=10,
                Catch=[*catching("States.HeartbeatTimeout"), *catching("States.Timeout", to="C")],
            ),
            B=passing(Result="silent"),
            C=passing(),
        ),
        {},
        "silent",
        seconds=1,
        states="A B",
    ),
    "timeout_matches_a_heartbeat_time_out": Case(
        machine(
            awaited("launcher", {"mode": "dead"}, HeartbeatSecondsPath="$.h", Catch=catching("States.Timeout")),
            B=passing(Result=1),
        ),
        {"h": 2},
        1,
        seconds=2,
        states="A B",
    ),
    "heartbeats_keep_a_task_alive": Case(
        machine(awaited("launcher", {"mode": "beats"}, HeartbeatSeconds=1, TimeoutSeconds=20)), {}, {"beats": 5}, seconds=3.2
    ),
    "heartbeats_do_not_move_the_time_out": Case(
        machine(awaited("launcher", {"mode": "beats"}, HeartbeatSeconds=1, TimeoutSeconds=2)),
        {},
        error="States.Timeout",
        seconds=2,
    ),
    "tokens_of_branches_are_not_mixed": Case(
        machine(branching(*[machine(awaited("launcher", {"mode": "success", "id": i, "delay": 4 - i})) for i in range(4)])),
        {},
        [{"ok": i} for i in range(4)],
        states="A A A A A",
    ),
    "the_context_knows_execution_and_retries": Case(
        machine(
            passing(Parameters={"input.$": "$$.Execution.Input.x", "state.$": "$$.State.Name", "tries.$": "$$.State.RetryCount"})
        ),
        {"x": 1},
        {"input": 1, "state": "A", "tries": 0},
    ),
}

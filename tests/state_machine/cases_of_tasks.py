"""Cases of Task: its input and output, Retry, Catch, time-outs, heartbeats and tokens."""

from tests.state_machine.builders import awaited, catching, machine, passing, retrying, task
from tests.state_machine.case import ECHO, Case

TASK_CASES = {
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
    "a_parameter_that_leads_nowhere_has_an_error_of_its_own": Case(
        machine(task("echo", {"a.$": "$.nowhere"}, Catch=catching("States.ParameterPathFailure")), B=passing(Result=1)),
        {},
        1,
        states="A B",
    ),
    "an_intrinsic_function_that_fails_says_so": Case(
        machine(passing(Parameters={"a.$": "States.StringToJson('{')"})), error="States.IntrinsicFailure"
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
        machine(awaited("launcher", {"mode": "beats"}, HeartbeatSeconds=3, TimeoutSeconds=20)), {}, {"beats": 4}, seconds=6
    ),
    "heartbeats_do_not_move_the_time_out": Case(
        machine(awaited("launcher", {"mode": "beats"}, HeartbeatSeconds=3, TimeoutSeconds=4)),
        {},
        error="States.Timeout",
        seconds=4,
    ),
    "retry_with_a_rate_of_one_waits_the_same": Case(
        machine(task("flaky", {"n": 3}, Retry=retrying("CustomErr", BackoffRate=1.0), OutputPath="$.Payload")),
        {}, {"tries": 3}, seconds=1 + 1,
    ),
    "jitter_counts_from_the_most_that_retry_waits": Case(
        machine(task("flaky", {"n": 3}, OutputPath="$.Payload", Retry=retrying(
            "States.ALL", IntervalSeconds=3, BackoffRate=10, MaxDelaySeconds=2, JitterStrategy="FULL"))),
        {}, {"tries": 3}, seconds=0.5 * 2 * 2,
    ),
    "each_retrier_counts_for_itself": Case(
        machine(task("flaky", {"n": 4, "errors": ["One", "Two", "One"]}, OutputPath="$.Payload", Retry=[
            *retrying("One", MaxAttempts=2, BackoffRate=1), *retrying("Two", MaxAttempts=1)])),
        {}, {"tries": 4}, seconds=3,
    ),
    "a_retrier_that_is_used_up_is_not_followed_by_the_next": Case(
        machine(task("flaky", {"n": 9}, Retry=[*retrying("CustomErr", MaxAttempts=1), *retrying("States.ALL")])),
        error="CustomErr", seconds=1,
    ),
    "a_state_entered_again_has_all_its_retries_again": Case(
        machine(
            task("flaky", {"n": 4}, Retry=retrying("States.ALL", MaxAttempts=1), Catch=catching("States.ALL"), Next="C"),
            B=passing(Next="A"), C=passing(Result=1),
        ),
        {}, 1, seconds=2, states="A B A C",
    ),
    "the_context_counts_retries": Case(
        machine(task("flaky", {"n": 3, "r.$": "$$.State.RetryCount"}, Retry=retrying("States.ALL", BackoffRate=1),
                     OutputPath="$.Payload")),
        {}, {"tries": 3, "r": 2}, seconds=2,
    ),
    "a_catch_puts_the_error_into_the_raw_input": Case(
        machine(task("boom", InputPath="$.a", Catch=catching("States.ALL", ResultPath="$.b.e")),
                B=passing(OutputPath="$.b.e.Error")),
        {"a": {}, "b": {"c": 1}}, "CustomErr", states="A B",
    ),
    "a_catch_without_result_path_replaces_the_input": Case(
        machine(task("boom", Catch=catching("States.ALL")), B=passing(OutputPath="$.Error")), {"k": 1}, "CustomErr", states="A B"
    ),
    "a_result_selector_sees_the_result_and_result_path_the_raw_input": Case(
        machine(task("echo", {"k.$": "$.k"}, InputPath="$.a", ResultSelector={"k.$": "$.Payload.k"}, ResultPath="$.a.r",
                     OutputPath="$.a")),
        {"a": {"k": 5}}, {"k": 5, "r": {"k": 5}},
    ),
    "a_task_with_null_result_path_keeps_its_input": Case(machine(task("echo", ResultPath=None)), {"x": 1}, {"x": 1}),
    "a_payload_may_be_the_whole_input": Case(
        machine({**task("echo", OutputPath="$.Payload"), "Parameters": {"FunctionName": "echo", "Payload.$": "$"}}),
        {"a": [1, None, "x"]}, {"a": [1, None, "x"]},
    ),
    "a_payload_may_be_the_context": Case(
        machine({**task("echo", OutputPath="$.Payload.State.Name"), "Parameters": {"FunctionName": "echo", "Payload.$": "$$"}}),
        {}, "A",
    ),
    "a_result_selector_that_finds_nothing_fails": Case(
        machine(task("echo", ResultSelector={"a.$": "$.Payload.nowhere"})), error="States.ParameterPathFailure"
    ),
    "a_token_that_fails_without_an_error_name_is_caught_by_all": Case(
        machine(awaited("launcher", {"mode": "nameless"}, Catch=catching("States.ALL")), B=passing(Result=1)), {}, 1, states="A B"
    ),
    "a_token_may_end_the_task_with_a_plain_text": Case(
        machine(awaited("launcher", {"mode": "text"})), {}, "plain", seconds=0.5
    ),
    "a_retry_gives_a_new_token": Case(
        machine(awaited("launcher", {"mode": "fresh"}, TimeoutSeconds=4, Retry=retrying("WorkerCrashed", MaxAttempts=1))),
        {}, {"fresh": True}, seconds=0.5 + 1 + 0.5,
    ),
    "a_slow_function_meets_the_time_out_even_where_all_is_retried": Case(
        machine(task("sleeper", {"s": 4}, TimeoutSeconds=1, Retry=retrying("States.ALL", MaxAttempts=1),
                     Catch=catching("States.ALL")),
                B=passing(OutputPath="$.Error")),
        {}, "States.Timeout", seconds=3, states="A B",
    ),
    "a_time_out_of_nothing_is_refused": Case(
        machine(task("sleeper", {"s": 1}, TimeoutSecondsPath="$.t")), {"t": 0}, error="States.Runtime"
    ),
    "a_caught_time_out_has_an_empty_cause": Case(
        machine(task("sleeper", {"s": 3}, TimeoutSeconds=1, Catch=catching("States.ALL")), B=passing()),
        {}, {"Error": "States.Timeout", "Cause": ""}, states="A B",
    ),
}  # fmt: skip

"""Cases of Pass, Wait, Choice, Succeed and Fail, of paths, of intrinsic functions and of rules."""

from pydantic import JsonValue

from tests.state_machine.builders import Json, machine, passing
from tests.state_machine.case import Case, choosing

STATES = {
    "a_pass_a_choice_a_wait_and_a_succeed_follow_each_other": Case(
        machine(
            passing(Result={"n": 5}, ResultPath="$.r", Next="B"),
            B={"Type": "Choice", "Default": "E", "Choices": [
                {"And": [{"Variable": "$.r.n", "NumericGreaterThan": 3}, {"Variable": "$.x", "IsPresent": True}], "Next": "C"}]},
            C={"Type": "Wait", "Seconds": 1, "Next": "D"},
            D={"Type": "Succeed"},
            E={"Type": "Fail", "Error": "No"},
        ),
        {"x": 1}, {"x": 1, "r": {"n": 5}}, seconds=1, states="A B C D",
    ),
    "pass_gives_its_result_where_result_path_says": Case(
        machine(passing(Result={"n": 5}, ResultPath="$.r.deep")), {"x": 1}, {"x": 1, "r": {"deep": {"n": 5}}}
    ),
    "pass_with_null_result_path_keeps_its_input": Case(machine(passing(Result=1, ResultPath=None)), {"x": 1}, {"x": 1}),
    "null_output_path_gives_an_empty_object": Case(machine(passing(OutputPath=None)), {"x": 1}, {}),
    "null_input_path_gives_an_empty_object": Case(machine(passing(InputPath=None)), {"x": 1}, {}),
    "input_path_selects": Case(machine(passing(InputPath="$.a['b c'][1]")), {"a": {"b c": [1, [2]]}}, [2]),
    "input_path_parameters_result_path_and_output_path_work_in_this_order": Case(
        machine(passing(InputPath="$.a", Parameters={"v.$": "$.b", "c": {"d.$": "$$.State.Name"}}, ResultPath="$.r",
                        OutputPath="$.r")),
        {"a": {"b": 7}, "r": 0}, {"v": 7, "c": {"d": "A"}},
    ),
    "a_result_path_replaces_what_was_there": Case(machine(passing(Result=2, ResultPath="$.x")), {"x": {"y": 1}}, {"x": 2}),
    "integers_of_any_size_stay_exact": Case(machine(passing()), 2**70 + 1, 2**70 + 1),
    "text_of_any_script_stays_as_it_is": Case(
        machine(passing()), {"ключ": "價值 \u2028 🙂"}, {"ключ": "價值 \u2028 🙂"}
    ),
    "a_plain_text_is_an_output": Case(machine(passing(Result="text")), {}, "text"),
    "wait_takes_its_seconds": Case(machine({"Type": "Wait", "Seconds": 3, "End": True}), {"x": 1}, {"x": 1}, seconds=3),
    "wait_takes_no_time_at_all": Case(machine({"Type": "Wait", "Seconds": 0, "End": True}), {"x": 1}, {"x": 1}, seconds=0),
    "wait_takes_the_seconds_of_a_path": Case(
        machine({"Type": "Wait", "SecondsPath": "$.s", "End": True}), {"s": 4}, {"s": 4}, seconds=4
    ),
    "wait_does_not_take_the_seconds_of_a_text": Case(
        machine({"Type": "Wait", "SecondsPath": "$.s", "End": True}), {"s": "x"}, error="States.Runtime"
    ),
    "wait_does_not_take_seconds_below_zero": Case(
        machine({"Type": "Wait", "SecondsPath": "$.s", "End": True}), {"s": -1}, error="States.Runtime"
    ),
    "wait_ends_at_a_timestamp": Case(
        machine({"Type": "Wait", "Timestamp": "1970-01-12T13:46:50Z", "End": True}), {}, {}, seconds=10
    ),
    "wait_until_the_past_ends_at_once": Case(
        machine({"Type": "Wait", "TimestampPath": "$", "End": True}), "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", seconds=0
    ),
    "wait_does_not_take_a_date_without_a_time": Case(
        machine({"Type": "Wait", "TimestampPath": "$.t", "End": True}), {"t": "1970-01-01"}, error="States.Runtime"
    ),
    "wait_does_not_take_a_time_without_a_zone": Case(
        machine({"Type": "Wait", "TimestampPath": "$.t", "End": True}), {"t": "1970-01-01T00:00:00"}, error="States.Runtime"
    ),
    "succeed_filters_its_output": Case(machine({"Type": "Succeed", "InputPath": "$.a"}), {"a": 3}, 3),
    "succeed_filters_twice": Case(machine({"Type": "Succeed", "InputPath": "$.a", "OutputPath": "$.b"}), {"a": {"b": 3}}, 3),
    "fail_says_error_and_cause": Case(machine({"Type": "Fail", "Error": "E", "Cause": "because"}), error="E"),
    "fail_says_error_and_cause_by_paths": Case(
        machine({"Type": "Fail", "ErrorPath": "$.e", "CausePath": "States.Format('because {}', $.c)"}), {"e": "E1", "c": 1},
        error="E1",
    ),
    "fail_needs_neither_error_nor_cause": Case(machine({"Type": "Fail"}), error=""),
    "no_rule_and_no_default": Case(
        machine({"Type": "Choice", "Choices": [{"Variable": "$.x", "IsPresent": True, "Next": "B"}]}, B=passing()),
        error="States.NoChoiceMatched",
    ),
    "the_first_rule_that_holds_is_taken": Case(
        machine({"Type": "Choice", "Choices": [
            {"Variable": "$.x", "NumericEquals": 2, "Next": "D"}, {"Variable": "$.x", "NumericLessThan": 3, "Next": "B"},
            {"Variable": "$.x", "NumericEquals": 1, "Next": "D"}]}, B=passing(), D=passing()),
        {"x": 1}, {"x": 1}, states="A B",
    ),
    "a_choice_on_what_is_not_there_is_a_runtime_error": Case(
        choosing({"Variable": "$.x", "NumericEquals": 1}), error="States.Runtime"
    ),
    "a_path_that_leads_nowhere_is_not_caught_by_all": Case(
        machine(passing(InputPath="$.nowhere", Next="B"), B=passing()), error="States.Runtime"
    ),
    "a_result_path_that_does_not_fit_the_input_fails": Case(
        machine(passing(Result=1, ResultPath="$.a")), [1], error="States.ResultPathMatchFailure"
    ),
    "an_output_path_that_leads_nowhere_fails": Case(machine(passing(OutputPath="$.a")), {}, error="States.Runtime"),
    "the_context_knows_execution_and_retries": Case(
        machine(
            passing(Parameters={"input.$": "$$.Execution.Input.x", "state.$": "$$.State.Name", "tries.$": "$$.State.RetryCount"})
        ),
        {"x": 1}, {"input": 1, "state": "A", "tries": 0},
    ),
    "the_context_knows_the_role": Case(
        machine(passing(Parameters={"role.$": "$$.Execution.RoleArn"})), {}, {"role": "arn:aws:iam::123456789012:role/states"}
    ),
}  # fmt: skip

INTRINSICS: dict[str, JsonValue] = {
    "States.Format('{}-{}', $.x, 2)": "q-2",
    "States.Format('it\\'s \\{{}\\}', $.m)": 'it\'s {{"a":1}}',
    "States.Array($.x, 2, true, null)": ["q", 2, True, None],
    "States.Array()": [],
    "States.ArrayPartition($.xs, 2)": [[1, 2], [3, 3]],
    "States.ArrayContains($.xs, 2)": True,
    "States.ArrayContains($.xs, 9)": False,
    "States.ArrayRange(1, 5, 2)": [1, 3, 5],
    "States.ArrayGetItem($.xs, 1)": 2,
    "States.ArrayLength($.xs)": 4,
    "States.ArrayUnique($.xs)": [1, 2, 3],
    "States.Base64Encode('x')": "eA==",
    "States.Base64Decode('eA==')": "x",
    "States.Hash('a', 'MD5')": "0cc175b9c0f1b6a831c399e269772661",
    "States.Hash('a', 'SHA-1')": "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8",
    "States.Hash('a', 'SHA-256')": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
    "States.JsonMerge($.m, $.n, false)": {"a": 1, "b": 2},
    "States.StringToJson('[1]')": [1],
    "States.JsonToString($.m)": '{"a":1}',
    "States.MathAdd(1, -3)": -2,
    "States.MathRandom(4, 5)": 4,
    "States.StringSplit('a,b;c', ',;')": ["a", "b", "c"],
    "States.StringSplit('a', '')": ["a"],
    "States.ArrayContains(States.Array(true, 2), 1)": False,
    "States.ArrayUnique(States.Array(1, true, 1))": [1, True],
    "States.ArrayLength(States.StringSplit(States.Format('{},{}', 1, 2), ','))": 2,
    "States.ArrayLength(States.Array(States.UUID()))": 1,
}

FAILING_INTRINSICS = (
    "States.StringToJson('{')", "States.StringToJson('NaN')", "States.ArrayRange(1, 2000, 1)", "States.ArrayRange(1, 5, 0)",
    "States.ArrayPartition($.xs, 0)", "States.ArrayPartition($.xs, -1)", "States.ArrayLength($.x)",
    "States.ArrayGetItem($.xs, 9)", "States.ArrayContains($.x, 'q')", "States.ArrayUnique($.x)", "States.Hash('a', 'blake2b')",
    "States.MathAdd('1', 2)", "States.MathAdd(true, 2)",
    "States.JsonMerge($.m, $.n, true)", "States.Format('{}{}', 1)", "States.Format('{}', 1, 2)", "States.MathRandom(5, 4)",
    "States.Base64Encode($.long)", "States.Hash($.long, 'MD5')",
)  # fmt: skip
VALUES: Json = {"x": "q", "xs": [1, 2, 3, 3], "m": {"a": 1}, "n": {"b": 2}, "long": "x" * 10_001}

RULES: list[tuple[Json, JsonValue, bool]] = [
    ({"Variable": "$.x", "IsPresent": True}, {"x": None}, True),
    ({"Variable": "$.x", "IsPresent": True}, {}, False),
    ({"Variable": "$.x", "IsPresent": False}, {}, True),
    ({"Variable": "$.x", "IsNull": True}, {"x": None}, True),
    ({"Variable": "$.x", "IsNumeric": True}, {"x": True}, False),
    ({"Variable": "$.x", "IsBoolean": True}, {"x": True}, True),
    ({"Variable": "$.x", "IsString": False}, {"x": 1}, True),
    ({"Variable": "$.x", "IsTimestamp": True}, {"x": "2026-01-01T00:00:00Z"}, True),
    ({"Variable": "$.x", "IsTimestamp": True}, {"x": "2026-01-01"}, False),
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
    ({"Variable": "$$.Execution.Input.x", "NumericEquals": 1}, {"x": 1}, True),
    ({"And": [{"Variable": "$.x", "IsPresent": True}, {"Variable": "$.x", "NumericEquals": 1}]}, {"x": 1}, True),
    ({"And": [{"Variable": "$.x", "IsPresent": True}, {"Variable": "$.x", "NumericEquals": 1}]}, {}, False),
    ({"Or": [{"Variable": "$.x", "NumericEquals": 2}, {"Variable": "$.x", "NumericEquals": 1}]}, {"x": 1}, True),
    ({"Not": {"Variable": "$.x", "NumericEquals": 2}}, {"x": 1}, True),
]

VALUE_CASES = {
    **STATES,
    **{text: Case(machine(passing(Parameters={"r.$": text})), VALUES, {"r": r}) for text, r in INTRINSICS.items()},
    **{
        text: Case(machine(passing(Parameters={"r.$": text})), VALUES, error="States.IntrinsicFailure")
        for text in FAILING_INTRINSICS
    },
    **{f"{rule} of {given}": Case(choosing(rule), given, given, states=f"A {'Yes' if holds else 'No'}")
       for rule, given, holds in RULES},
}  # fmt: skip

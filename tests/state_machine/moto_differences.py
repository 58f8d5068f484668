"""Where moto and AWS part ways, case by case. The interpreter follows AWS in each; a test fails when moto catches up.

Rules are named by the page of AWS's Step Functions guide (or the Amazon States Language specification it points to) and the
term on it.
"""

from dataclasses import dataclass

from tests.state_machine.cases import CASES
from tests.state_machine.cases_of_values import FAILING_INTRINSICS


@dataclass(frozen=True)
class Difference:
    """What moto does, what AWS documents, and where."""

    moto: str
    aws: str
    rule: str


def _plain_text() -> Difference:
    return Difference(
        "describes an output that is a plain text without its quotes",
        "the output is JSON text, so a string has its quotes",
        "API reference, DescribeExecution: output is the JSON output data of the execution",
    )


def _intrinsic_failure(moto: str = "fails with States.Runtime, which nothing can catch") -> Difference:
    return Difference(moto, "fails with States.IntrinsicFailure", "Handling errors: States.IntrinsicFailure")


_LENIENT = "gives a value and goes on"

_ONE_BY_ONE = {
    "no_rule_and_no_default": Difference(
        "fails with States.Runtime", "fails with States.NoChoiceMatched", "Handling errors: States.NoChoiceMatched"
    ),
    "a_choice_on_what_is_not_there_is_a_runtime_error": Difference(
        "takes the Default", "a rule whose Variable is not there fails the execution, but for IsPresent",
        "Choice workflow state: IsPresent, and Handling errors: States.Runtime",
    ),
    "a_result_path_that_does_not_fit_the_input_fails": Difference(
        "fails with States.Runtime", "fails with States.ResultPathMatchFailure",
        "Handling errors: States.ResultPathMatchFailure",
    ),
    "a_parameter_that_leads_nowhere_has_an_error_of_its_own": Difference(
        "fails with States.Runtime", "fails with States.ParameterPathFailure, which a Catch may name",
        "Handling errors: States.ParameterPathFailure",
    ),
    "a_result_selector_that_finds_nothing_fails": Difference(
        "fails with States.Runtime", "the payload template fails as Parameters do",
        "Specification, Payload Template, and Handling errors: States.ParameterPathFailure",
    ),
    "the_context_knows_execution_and_retries": Difference(
        "has no RetryCount outside Task", "State has EnteredTime, Name and RetryCount", "Context object: State"
    ),
    "States.Format('it\\'s \\{{}\\}', $.m)": Difference(
        "cuts the text at the escaped quote", "an escaped quote or brace stands for itself",
        "Intrinsics: reserved characters in intrinsic functions",
    ),
    "States.Array($.x, 2, true, null)": Difference(
        "drops null", "null is an argument as any other", "Specification, Intrinsic Functions: arguments"
    ),
    "States.StringToJson('NaN')": _intrinsic_failure(_LENIENT),
    "States.MathAdd(true, 2)": _intrinsic_failure(_LENIENT),
    "States.Format('{}', 1, 2)": _intrinsic_failure(_LENIENT),
    "States.ArrayContains(States.Array(true, 2), 1)": Difference(
        "takes true for 1", "true and 1 are different values", "JSON; Intrinsics: States.ArrayContains, a given value"
    ),
    "States.ArrayUnique(States.Array(1, true, 1))": Difference(
        "takes true for 1", "true and 1 are different values", "JSON; Intrinsics: States.ArrayUnique, duplicate values"
    ),
    "a_token_fails_the_task_with_its_error": Difference(
        "loses the cause", "SendTaskFailure takes a cause, and the Catch gets it",
        "API reference, SendTaskFailure: cause; Handling errors: error output",
    ),
    "silence_is_a_heartbeat_time_out": Difference(
        "calls it States.Timeout", "a missed heartbeat is States.HeartbeatTimeout, available in Catch and Retry",
        "Handling errors: States.HeartbeatTimeout",
    ),
    "a_retry_gives_a_new_token": Difference(
        "gives the retried task its old token", "each attempt is a task of its own, and a token ends one task",
        "Service integration patterns: task token; API reference, SendTaskSuccess: TaskTimedOut",
    ),
    "a_time_out_of_nothing_is_refused": Difference(
        "times out at once", "the value has to be a positive integer", "Task workflow state: TimeoutSecondsPath"
    ),
    "map_over_no_array_fails": Difference(
        "fails with States.QueryEvaluationError", "that error is JSONata's; with JSONPath it is States.Runtime",
        "Handling errors: States.QueryEvaluationError",
    ),
    "the_machine_has_a_time_out_of_its_own": Difference(
        "describes no error", "the execution fails with States.Timeout", "State machine structure: TimeoutSeconds"
    ),
    "a_machine_cannot_catch_its_own_time_out": Difference(
        "describes no error", "the execution fails with States.Timeout", "State machine structure: TimeoutSeconds"
    ),
    "{'Variable': '$.x', 'TimestampLessThan': '2026-01-01T01:00:00+01:00'} of {'x': '2025-12-31T23:59:00Z'}": Difference(
        "fails with a TypeError of its own on a zone other than Z", "timestamps are RFC 3339, which allows offsets",
        "Choice workflow state: timestamps",
    ),
}  # fmt: skip

DIFFERENCES = {
    **{text: _intrinsic_failure() for text in FAILING_INTRINSICS},
    "an_intrinsic_function_that_fails_says_so": _intrinsic_failure(),
    **{name: _plain_text() for name, case in CASES.items() if isinstance(case.output, str)},
    **_ONE_BY_ONE,
}

BY_CHANCE = {
    "States.MathRandom(4, 5)": Difference(
        "may give 5", "the start is inclusive, the end is not", "Intrinsics: States.MathRandom"
    ),
}  # fmt: skip
"""Differences that only some runs show, so that no test can hold them."""

JOB_DIFFERENCES = {"the_server_falls_silent": DIFFERENCES["silence_is_a_heartbeat_time_out"]}

"""Each fault that the lint of a definition has to see."""

import json
from pathlib import Path

import pytest

from local_stack.state_machine.definition import InvalidDefinition, parse, substituted
from local_stack.state_machine.lint import findings, main
from tests.state_machine.builders import ASL, Json, awaited, catching, machine, passing, retrying, task

INNER: Json = {"StartAt": "I", "States": {"I": passing()}}
GOOD: Json = {"TimeoutSeconds": 60, "ResultPath": None}

FAULTS: dict[str, tuple[Json, str]] = {
    "a_service_that_is_not_lambda": (
        machine({**task("f", **GOOD), "Resource": "arn:aws:states:::sqs:sendMessage"}), "/States/A/Task/Resource"
    ),
    "a_pattern_that_is_not_allowed": (
        machine({**task("f", **GOOD), "Resource": "arn:aws:states:::lambda:invoke.sync"}), "/States/A/Task/Resource"
    ),
    "jsonata": ({"QueryLanguage": "JSONata", **machine(passing())}, "/QueryLanguage"),
    "variables": (machine(passing(Assign={"a": 1})), "/States/A/Pass/Assign"),
    "a_distributed_map": (
        machine({"Type": "Map", "End": True, "ItemProcessor": {
            "ProcessorConfig": {"Mode": "DISTRIBUTED"}, **INNER}}), "ProcessorConfig/Mode",
    ),
    "an_unknown_type": (machine({"Type": "Loop"}), "/States/A"),
    "a_misspelt_field": (machine(passing(ResultPat="$.a")), "ResultPat"),
    "a_task_without_its_function": (machine({**task("f", **GOOD), "Parameters": {"Payload": {}}}), "FunctionName"),
    "an_awaited_task_without_its_token": (
        machine({**awaited("f", None, **GOOD), "Parameters": {"FunctionName": "f", "Payload": {}}}),
        "does not carry $$.Task.Token",
    ),
    "a_token_that_nothing_waits_for": (machine(task("f", {"token.$": "$$.Task.Token"}, **GOOD)), "nothing waits for"),
    "a_heartbeat_not_below_the_time_out": (
        machine(awaited("f", HeartbeatSeconds=60, TimeoutSeconds=60, ResultPath=None)), "HeartbeatSeconds has to be below"
    ),
    "a_task_without_any_limit": (machine(task("f", ResultPath=None)), "neither a time-out nor a heartbeat"),
    "an_unknown_error_of_aws_in_retry": (machine(task("f", Retry=retrying("States.Timout"), **GOOD)), "States.Timout"),
    "an_unknown_error_of_lambda_in_retry": (machine(task("f", Retry=retrying("Lambda.Busy"), **GOOD)), "Lambda.Busy"),
    "an_unknown_error_of_ours_in_catch": (
        machine(task("f", Catch=catching("StilStopping"), **GOOD), B=passing()), "StilStopping is no error"
    ),
    "all_that_is_not_the_last_catch": (
        machine(task("f", Catch=[*catching("States.ALL"), *catching("Busy")], **GOOD), B=passing()), "States.ALL has to stand"
    ),
    "an_error_that_nothing_catches_in_a_catch": (
        machine(task("f", Catch=catching("States.Runtime"), **GOOD), B=passing()), "cannot be retried or caught"
    ),
    "a_fail_with_a_name_of_aws": (machine({"Type": "Fail", "Error": "States.Timeout"}), "begins with States."),
    "a_fail_that_hands_on_a_caught_name": (machine({"Type": "Fail", "ErrorPath": "$.failure.Error"}), "begins with States."),
    "a_name_used_in_two_branches": (
        machine({"Type": "Parallel", "End": True, "Branches": [INNER, INNER]}), "unique in the whole machine; I is there twice"
    ),
    "a_map_in_the_old_words": (
        machine({"Type": "Map", "End": True, "ItemProcessor": INNER, "Parameters": {"a": 1}}), "the old name of ItemSelector"
    ),
    "a_failure_that_a_map_tolerates": (
        machine({"Type": "Map", "End": True, "ItemProcessor": INNER, "ToleratedFailureCount": 1}), "ToleratedFailureCount"
    ),
    "items_that_are_read_from_the_object_store": (
        machine({"Type": "Map", "End": True, "ItemProcessor": INNER, "ItemReader": {}}), "ItemReader"
    ),
    "a_timestamp_without_a_zone": (
        machine({"Type": "Wait", "Timestamp": "2030-01-01T00:00:00", "End": True}), "is no timestamp"
    ),
    "a_next_that_does_not_exist": (machine(passing(Next="C")), "no state named C"),
    "a_start_that_does_not_exist": ({**machine(passing()), "StartAt": "X"}, "no state named X"),
    "a_state_nothing_leads_to": (machine(passing(), C=passing()), "C: no state leads there"),
    "a_state_with_neither_next_nor_end": (machine({"Type": "Pass"}), "either Next or End"),
    "a_whole_envelope_kept": (machine(task("f", TimeoutSeconds=60)), "whole answer"),
    "an_envelope_kept_by_an_output_path": (machine(task("f", TimeoutSeconds=60, OutputPath="$.Payload")), "whole answer"),
    "a_path_that_is_no_reference_path": (machine(passing(InputPath="$..a")), "no reference path"),
    "an_unknown_function_in_a_template": (machine(passing(Parameters={"a.$": "States.Now()"})), "no intrinsic function"),
    "an_unknown_operator_in_a_choice": (
        machine({"Type": "Choice", "Choices": [{"Variable": "$.a", "Equals": 1, "Next": "B"}]}, B=passing()), "no operator"
    ),
    "more_items_at_once_than_inline_maps_run": (
        machine({"Type": "Map", "End": True, "MaxConcurrency": 100, "ItemProcessor": INNER}), "above 40"
    ),
}  # fmt: skip


RESOURCES = [
    "arn:aws:lambda:us-east-1:123456789012:function:f", "arn:aws:states:::dynamodb:putItem", "arn:aws:states:::dynamodb:getItem",
    "arn:aws:states:::dynamodb:updateItem", "arn:aws:states:::aws-sdk:dynamodb:updateItem",
    "arn:aws:states:::aws-sdk:s3:listObjectsV2", "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
    "arn:aws:states:::batch:submitJob.sync", "arn:aws:states:::batch:submitJob.waitForTaskToken",
    "arn:aws:states:::ecs:runTask.sync", "arn:aws:states:::ecs:runTask.waitForTaskToken",
    "arn:aws:states:::states:startExecution.sync:2", "arn:aws:states:us-east-1:123456789012:activity:a",
]  # fmt: skip


@pytest.mark.parametrize("resource", RESOURCES)
def test_a_resource_that_the_interpreter_does_not_know_is_refused_before_it_runs(resource: str) -> None:
    with pytest.raises(InvalidDefinition, match="/States/A/Task/Resource: Input should be"):
        parse(json.dumps(machine({**task("f", **GOOD), "Resource": resource})))


@pytest.mark.parametrize("fault", FAULTS)
def test_the_lint_sees(fault: str) -> None:
    definition, words = FAULTS[fault]
    found = findings(json.dumps(definition))
    assert len([line for line in found if words in line]) == 1, found


def test_a_good_machine_has_no_finding() -> None:
    assert findings(json.dumps(machine(task("f", **GOOD)))) == []


def test_a_name_used_twice_is_seen() -> None:
    state = '{"Type":"Succeed"}'
    assert findings(f'{{"StartAt":"A","States":{{"A":{state},"A":{state}}}}}') == ["A: the name appears twice in one object"]


LOCK = ASL.parent / "package-lock.json"


def test_the_lints_from_npm_are_locked_without_the_address_of_a_registry() -> None:
    locked = json.loads(LOCK.read_text())["packages"]
    found = [name for name, package in locked.items() if name and ("integrity" not in package or "resolved" in package)]
    assert found == []


def test_text_that_is_no_json_is_a_finding() -> None:
    assert "not JSON" in findings("{")[0]


def test_a_substitution_without_a_value_is_named() -> None:
    with pytest.raises(InvalidDefinition, match="CollectFunction, FailFunction"):
        substituted(ASL.read_text(), {})


def test_a_definition_that_is_refused_names_every_place() -> None:
    with pytest.raises(InvalidDefinition) as refused:
        parse(json.dumps(machine(passing(Wrong=1), B={"Type": "Wait", "End": True})))
    assert [line.split(":")[0] for line in str(refused.value).splitlines()] == ["/States/A/Pass/Wrong", "/States/B/Wait"]


def test_the_command_prints_the_findings_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(machine(passing(), C=passing())))
    assert (main([str(file)]), capsys.readouterr().out) == (1, f"{file}: C: no state leads there\n")

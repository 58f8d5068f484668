"""The service's protocol, asked by boto3 over a real socket."""

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError
from pydantic import JsonValue

from tests.state_machine.builders import Json, awaited, machine, passing, task
from tests.state_machine.served import client_of, served

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

PATIENCE_S = 20.0
ROLE = "arn:aws:iam::000000000000:role/states"
WAITS = machine({"Type": "Wait", "Seconds": 600, "End": True})


@pytest.fixture(scope="module")
def tokens() -> list[str]:
    return []


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, tokens: list[str]) -> Iterator[str]:
    def invoke(name: str, payload: JsonValue) -> JsonValue:
        if isinstance(payload, dict) and "token" in payload:
            tokens.append(str(payload["token"]))
        return payload

    with served(tmp_path_factory.mktemp("states") / "states.db", invoke) as (_, url):
        yield url


@pytest.fixture(scope="module")
def client(address: str) -> Iterator["SFNClient"]:
    with client_of(address) as found:
        yield found


def _create(client: "SFNClient", request: pytest.FixtureRequest, definition: Json) -> str:
    name = re.sub(r"\W", "-", request.node.name)[:80]
    return client.create_state_machine(name=name, definition=json.dumps(definition), roleArn=ROLE)["stateMachineArn"]


def _ended(client: "SFNClient", arn: str) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while (found := client.describe_execution(executionArn=arn))["status"] == "RUNNING":
        assert time.monotonic() < deadline, "the execution did not end in time"
        time.sleep(0.01)
    return found["status"]


def _token(tokens: list[str], count: int) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while len(tokens) < count:
        assert time.monotonic() < deadline, "no token came"
        time.sleep(0.01)
    return tokens[-1]


def test_an_execution_is_described_with_input_and_output(client: "SFNClient", request: pytest.FixtureRequest) -> None:
    arn = _create(client, request, machine(task("echo", {"a.$": "$.a"}, OutputPath="$.Payload")))
    execution = client.start_execution(stateMachineArn=arn, name="e", input='{"a":1}')["executionArn"]
    assert _ended(client, execution) == "SUCCEEDED"
    found = client.describe_execution(executionArn=execution)
    assert (found["input"], found["output"], found["name"], found["stateMachineArn"]) == ('{"a":1}', '{"a":1}', "e", arn)
    assert abs((datetime.now(UTC) - found["stopDate"]).total_seconds()) < 60


def test_a_failure_is_described_with_error_and_cause(client: "SFNClient", request: pytest.FixtureRequest) -> None:
    arn = _create(client, request, machine({"Type": "Fail", "Error": "E", "Cause": "C"}))
    execution = client.start_execution(stateMachineArn=arn)["executionArn"]
    assert _ended(client, execution) == "FAILED"
    found = client.describe_execution(executionArn=execution)
    assert (found["error"], found["cause"]) == ("E", "C")


def test_a_machine_is_described_updated_and_listed(client: "SFNClient", request: pytest.FixtureRequest) -> None:
    arn = _create(client, request, machine(passing()))
    client.update_state_machine(stateMachineArn=arn, definition=json.dumps(WAITS))
    assert json.loads(client.describe_state_machine(stateMachineArn=arn)["definition"]) == WAITS
    assert arn in [found["stateMachineArn"] for found in client.list_state_machines()["stateMachines"]]


def test_creating_the_same_machine_again_is_silent_and_another_is_refused(
    client: "SFNClient", request: pytest.FixtureRequest
) -> None:
    assert _create(client, request, WAITS) == _create(client, request, WAITS)
    with pytest.raises(client.exceptions.StateMachineAlreadyExists):
        _create(client, request, machine(passing()))


def test_executions_are_listed_newest_first_by_pages_and_by_status(client: "SFNClient", request: pytest.FixtureRequest) -> None:
    arn = _create(client, request, machine(passing()))
    for number in range(5):
        _ended(client, client.start_execution(stateMachineArn=arn, name=f"e{number}")["executionArn"])
    pages = client.get_paginator("list_executions").paginate(stateMachineArn=arn, PaginationConfig={"PageSize": 2})
    assert [found["name"] for page in pages for found in page["executions"]] == ["e4", "e3", "e2", "e1", "e0"]
    assert client.list_executions(stateMachineArn=arn, statusFilter="RUNNING")["executions"] == []


def test_a_history_comes_in_pages_and_in_both_directions(client: "SFNClient", request: pytest.FixtureRequest) -> None:
    execution = client.start_execution(stateMachineArn=_create(client, request, machine(task("echo"))))["executionArn"]
    _ended(client, execution)
    pages = client.get_paginator("get_execution_history").paginate(executionArn=execution, PaginationConfig={"PageSize": 3})
    kinds = [event["type"] for page in pages for event in page["events"]]
    backwards = client.get_execution_history(executionArn=execution, reverseOrder=True)["events"]
    assert kinds == [event["type"] for event in backwards][::-1]
    assert kinds[0] == "ExecutionStarted"


def test_a_scheduled_task_shows_its_parameters(client: "SFNClient", request: pytest.FixtureRequest) -> None:
    execution = client.start_execution(stateMachineArn=_create(client, request, machine(task("echo", {"a": 1}))))["executionArn"]
    _ended(client, execution)
    events = client.get_execution_history(executionArn=execution)["events"]
    details = next(event["taskScheduledEventDetails"] for event in events if event["type"] == "TaskScheduled")
    assert json.loads(details["parameters"]) == {"FunctionName": "echo", "Payload": {"a": 1}}


def test_a_token_ends_its_task_once(client: "SFNClient", request: pytest.FixtureRequest, tokens: list[str]) -> None:
    count = len(tokens) + 1
    execution = client.start_execution(stateMachineArn=_create(client, request, machine(awaited("f"))))["executionArn"]
    token = _token(tokens, count)
    client.send_task_heartbeat(taskToken=token)
    client.send_task_success(taskToken=token, output='{"done":true}')
    assert _ended(client, execution) == "SUCCEEDED"
    with pytest.raises(client.exceptions.TaskTimedOut):
        client.send_task_success(taskToken=token, output="{}")


def test_a_token_fails_its_task(client: "SFNClient", request: pytest.FixtureRequest, tokens: list[str]) -> None:
    count = len(tokens) + 1
    execution = client.start_execution(stateMachineArn=_create(client, request, machine(awaited("f"))))["executionArn"]
    client.send_task_failure(taskToken=_token(tokens, count), error="Broke", cause="because")
    assert _ended(client, execution) == "FAILED"
    assert client.describe_execution(executionArn=execution)["error"] == "Broke"


def test_starting_is_idempotent_only_while_it_runs(client: "SFNClient", request: pytest.FixtureRequest) -> None:
    arn = _create(client, request, WAITS)
    first = client.start_execution(stateMachineArn=arn, name="e", input="{}")
    assert client.start_execution(stateMachineArn=arn, name="e", input="{}")["executionArn"] == first["executionArn"]
    client.stop_execution(executionArn=first["executionArn"], error="Gone")
    with pytest.raises(client.exceptions.ExecutionAlreadyExists):
        client.start_execution(stateMachineArn=arn, name="e", input="{}")
    assert client.describe_execution(executionArn=first["executionArn"])["status"] == "ABORTED"


def test_a_redrive_is_refused_and_says_what_to_do(client: "SFNClient", request: pytest.FixtureRequest) -> None:
    arn = _create(client, request, machine({"Type": "Fail", "Error": "E"}))
    execution = client.start_execution(stateMachineArn=arn)["executionArn"]
    _ended(client, execution)
    assert client.describe_execution(executionArn=execution)["redriveStatus"] == "NOT_REDRIVABLE"
    with pytest.raises(client.exceptions.ExecutionNotRedrivable, match="start a new execution"):
        client.redrive_execution(executionArn=execution)


def test_an_execution_that_failed_without_error_and_cause_shows_none(client: "SFNClient", request: pytest.FixtureRequest) -> None:
    execution = client.start_execution(stateMachineArn=_create(client, request, machine({"Type": "Fail"})))["executionArn"]
    _ended(client, execution)
    assert {"error", "cause"} & set(client.describe_execution(executionArn=execution)) == set()


def test_stopping_an_ended_execution_changes_nothing(client: "SFNClient", request: pytest.FixtureRequest) -> None:
    execution = client.start_execution(stateMachineArn=_create(client, request, machine(passing())))["executionArn"]
    _ended(client, execution)
    before = client.describe_execution(executionArn=execution)
    client.stop_execution(executionArn=execution, error="Late")
    after = client.describe_execution(executionArn=execution)
    assert (after["status"], after["stopDate"]) == ("SUCCEEDED", before["stopDate"])


def test_a_token_of_a_task_that_timed_out_says_so(client: "SFNClient", request: pytest.FixtureRequest, tokens: list[str]) -> None:
    count = len(tokens) + 1
    execution = client.start_execution(stateMachineArn=_create(client, request, machine(awaited("f", TimeoutSeconds=1))))
    token = _token(tokens, count)
    assert _ended(client, execution["executionArn"]) == "FAILED"
    late: list[tuple[str, dict[str, str]]] = [
        ("send_task_success", {"output": "{}"}), ("send_task_failure", {}), ("send_task_heartbeat", {}),
    ]  # fmt: skip
    for operation, given in late:
        with pytest.raises(client.exceptions.TaskTimedOut):
            getattr(client, operation)(taskToken=token, **given)


TOO_LONG: list[tuple[str, dict[str, str]]] = [
    ("send_task_success", {"taskToken": "t", "output": json.dumps("x" * 262_144)}),
    ("send_task_failure", {"taskToken": "t", "error": "e" * 257}),
    ("send_task_failure", {"taskToken": "t", "cause": "c" * 32_769}),
]


@pytest.mark.parametrize(("operation", "given"), TOO_LONG, ids=["output", "error", "cause"])
def test_an_answer_of_a_task_that_aws_would_not_take_is_refused(
    operation: str, given: dict[str, str], client: "SFNClient"
) -> None:
    with pytest.raises(ClientError, match=r"ValidationException.*at most"):
        getattr(client, operation)(**given)


@pytest.mark.parametrize("backwards", [False, True])
def test_the_pages_of_a_history_hold_every_event_once(
    backwards: bool, client: "SFNClient", request: pytest.FixtureRequest
) -> None:
    loop = machine(passing(Next="B"), **{name: passing(Next=to) for name, to in zip("BCDE", "CDEF", strict=True)}, F=passing())
    execution = client.start_execution(stateMachineArn=_create(client, request, loop))["executionArn"]
    _ended(client, execution)
    pages = client.get_paginator("get_execution_history").paginate(
        executionArn=execution, reverseOrder=backwards, PaginationConfig={"PageSize": 7}
    )
    numbers = [[event["id"] for event in page["events"]] for page in pages]
    flat = [number for page in numbers for number in page]
    assert (flat, len(numbers)) == (sorted(range(1, 15), reverse=backwards), 2)


def test_a_history_leaves_out_the_data_when_asked_to(client: "SFNClient", request: pytest.FixtureRequest) -> None:
    arn = _create(client, request, machine(passing()))
    execution = client.start_execution(stateMachineArn=arn, input='{"secret":1}')["executionArn"]
    _ended(client, execution)
    events = client.get_execution_history(executionArn=execution, includeExecutionData=False)["events"]
    assert "secret" not in str(events)
    assert events[1]["stateEnteredEventDetails"]["name"] == "A"


M = "arn:aws:states:us-east-1:000000000000:stateMachine:none"
E = "arn:aws:states:us-east-1:000000000000:execution:none:none"
REFUSALS = [
    ("describe_state_machine", {"stateMachineArn": M}, "StateMachineDoesNotExist"),
    ("describe_state_machine", {"stateMachineArn": "nonsense"}, "InvalidArn"),
    ("start_execution", {"stateMachineArn": M}, "StateMachineDoesNotExist"),
    ("list_executions", {"stateMachineArn": M}, "StateMachineDoesNotExist"),
    ("describe_execution", {"executionArn": E}, "ExecutionDoesNotExist"),
    ("stop_execution", {"executionArn": E}, "ExecutionDoesNotExist"),
    ("get_execution_history", {"executionArn": E}, "ExecutionDoesNotExist"),
    ("send_task_success", {"taskToken": "nonsense", "output": "{}"}, "InvalidToken"),
    ("send_task_success", {"taskToken": f"999999-1-{'0' * 40}", "output": "{}"}, "TaskDoesNotExist"),
    ("send_task_success", {"taskToken": "nonsense", "output": "{"}, "InvalidOutput"),
    ("send_task_success", {"taskToken": "nonsense", "output": "NaN"}, "InvalidOutput"),
    ("send_task_failure", {"taskToken": "nonsense"}, "InvalidToken"),
    ("send_task_heartbeat", {"taskToken": "nonsense"}, "InvalidToken"),
    ("create_state_machine", {"name": "a b", "definition": "{}", "roleArn": ROLE}, "InvalidName"),
    ("create_state_machine", {"name": "x", "definition": "{}", "roleArn": ROLE}, "InvalidDefinition"),
    ("list_activities", {}, "UnknownOperationException"),
    ("redrive_execution", {"executionArn": E}, "ExecutionDoesNotExist"),
    ("validate_state_machine_definition", {"definition": "{}"}, "UnknownOperationException"),
    ("list_executions", {"stateMachineArn": M, "statusFilter": "RUNING"}, "ValidationException"),
    ("get_execution_history", {"executionArn": E, "maxResults": 1001}, "ValidationException"),
    ("get_execution_history", {"executionArn": E, "nextToken": "nonsense"}, "InvalidToken"),
]


@pytest.mark.parametrize(("operation", "given", "code"), REFUSALS)
def test_what_aws_refuses_is_refused_with_its_code(operation: str, given: Json, code: str, client: "SFNClient") -> None:
    with pytest.raises(ClientError) as refused:
        getattr(client, operation)(**given)
    assert refused.value.response["Error"]["Code"] == code


@pytest.mark.parametrize("given", ["{", '{"a":NaN}', json.dumps("x" * 300_000)])
def test_an_input_that_is_no_json_or_too_large_is_refused(
    given: str, client: "SFNClient", request: pytest.FixtureRequest
) -> None:
    with pytest.raises(client.exceptions.InvalidExecutionInput):
        client.start_execution(stateMachineArn=_create(client, request, WAITS), input=given)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
def test_a_request_that_a_web_page_could_send_without_asking_is_refused(kind: str, address: str) -> None:
    request = urllib.request.Request(address, b"{}", {"Content-Type": kind, "X-Amz-Target": "AWSStepFunctions.ListStateMachines"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=20)
    refused.value.close()
    assert refused.value.code == 400

"""What the port Workflow promises, over every implementation; today one adapter, on the service's protocol of the laptop."""

import json
import queue
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from chalicelib.adapters.step_functions import StepFunctionsWorkflow
from chalicelib.domain.errors import StoreUnavailable
from chalicelib.ports import Workflow
from tests.state_machine.builders import awaited, catching, machine
from tests.state_machine.served import client_of, served

PATIENCE_S = 20.0
JOB = "job-01j0000000000000000000000"
CAUGHT = catching("States.ALL", ResultPath="$.failure", to="F")
DEFINITION = machine(
    awaited("train", {"job_id.$": "$.job_id"}, HeartbeatSeconds=2, Catch=CAUGHT),
    F={"Type": "Fail", "ErrorPath": "$.failure.Error", "CausePath": "$.failure.Cause"},
)


class Asked:
    """The tokens of the tasks that were started, as they come, with the job they were started for."""

    def __init__(self) -> None:
        self._payloads: queue.Queue[JsonValue] = queue.Queue()

    def invoke(self, name: str, payload: JsonValue) -> JsonValue:
        """The function of the machine."""
        self._payloads.put(payload)
        return None

    def next(self) -> tuple[str, str]:
        """The job and token of the next task that starts."""
        payload = self._payloads.get(timeout=PATIENCE_S)
        assert isinstance(payload, dict)
        return str(payload["job_id"]), str(payload["token"])

    @property
    def left(self) -> int:
        """How many tasks started that nobody asked for."""
        return self._payloads.qsize()


@pytest.fixture
def asked() -> Asked:
    return Asked()


@pytest.fixture
def workflow(tmp_path: Path, asked: Asked) -> Iterator[Workflow]:
    with served(tmp_path / "states.db", asked.invoke) as (engine, url), client_of(url) as client:
        yield StepFunctionsWorkflow(client, engine.operations.install("training_job", json.dumps(DEFINITION)))


def _ended(workflow: Workflow, job_id: str) -> str | None:
    deadline = time.monotonic() + PATIENCE_S
    while (status := workflow.status(job_id)) == "RUNNING":
        assert time.monotonic() < deadline, "the execution did not end in time"
        time.sleep(0.01)
    return status


def test_a_started_job_runs_with_its_id_as_its_input(workflow: Workflow, asked: Asked) -> None:
    workflow.start(JOB)
    assert (workflow.status(JOB), asked.next()[0]) == ("RUNNING", JOB)


def test_starting_a_running_job_again_is_silent_and_starts_nothing(workflow: Workflow, asked: Asked) -> None:
    workflow.start(JOB)
    workflow.start(JOB)
    asked.next()
    time.sleep(0.1)
    assert asked.left == 0


def test_starting_a_job_that_has_run_is_silent_and_starts_nothing(workflow: Workflow, asked: Asked) -> None:
    workflow.start(JOB)
    workflow.succeed(asked.next()[1])
    assert _ended(workflow, JOB) == "SUCCEEDED"
    workflow.start(JOB)
    assert workflow.status(JOB) == "SUCCEEDED"


def test_an_answered_task_ends_the_execution(workflow: Workflow, asked: Asked) -> None:
    workflow.start(JOB)
    workflow.succeed(asked.next()[1])
    assert _ended(workflow, JOB) == "SUCCEEDED"


def test_a_failed_task_fails_the_execution(workflow: Workflow, asked: Asked) -> None:
    workflow.start(JOB)
    workflow.fail(asked.next()[1], error="server_lost", cause="no process is left")
    assert _ended(workflow, JOB) == "FAILED"


def test_a_cause_of_any_length_is_taken(workflow: Workflow, asked: Asked) -> None:
    workflow.start(JOB)
    workflow.fail(asked.next()[1], error="e" * 1000, cause="c" * 100_000)
    assert _ended(workflow, JOB) == "FAILED"


def test_a_heartbeat_keeps_a_task_alive(workflow: Workflow, asked: Asked) -> None:
    workflow.start(JOB)
    token = asked.next()[1]
    for _ in range(7):
        time.sleep(0.4)
        workflow.heartbeat(token)
    assert workflow.status(JOB) == "RUNNING"


def test_a_silent_task_fails_the_execution(workflow: Workflow, asked: Asked) -> None:
    workflow.start(JOB)
    assert _ended(workflow, JOB) == "FAILED"


OLD: list[Callable[[Workflow, str], None]] = [
    lambda workflow, token: workflow.succeed(token),
    lambda workflow, token: workflow.fail(token, error="late", cause=""),
    lambda workflow, token: workflow.heartbeat(token),
]


@pytest.mark.parametrize("tell", OLD)
def test_a_token_nobody_waits_for_any_more_changes_nothing(
    tell: Callable[[Workflow, str], None], workflow: Workflow, asked: Asked
) -> None:
    workflow.start(JOB)
    token = asked.next()[1]
    workflow.succeed(token)
    _ended(workflow, JOB)
    tell(workflow, token)
    assert workflow.status(JOB) == "SUCCEEDED"


@pytest.mark.parametrize("tell", OLD)
@pytest.mark.parametrize("token", ["nonsense", f"99-1-{'0' * 40}"])
def test_a_token_that_never_was_is_silence(tell: Callable[[Workflow, str], None], token: str, workflow: Workflow) -> None:
    tell(workflow, token)
    assert workflow.status(JOB) is None


def test_an_unknown_job_has_no_status(workflow: Workflow) -> None:
    assert workflow.status(JOB) is None


def test_no_answer_is_store_unavailable() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with client_of(f"http://127.0.0.1:{nobody.getsockname()[1]}") as client:
            workflow = StepFunctionsWorkflow(client, "arn:aws:states:us-east-1:000000000000:stateMachine:m")
            with pytest.raises(StoreUnavailable, match="does not answer"):
                workflow.start(JOB)


def test_a_refusal_is_store_unavailable_with_the_code(tmp_path: Path, asked: Asked) -> None:
    with served(tmp_path / "states.db", asked.invoke) as (_, url), client_of(url) as client:
        workflow = StepFunctionsWorkflow(client, "arn:aws:states:us-east-1:000000000000:stateMachine:absent")
        with pytest.raises(StoreUnavailable, match="StateMachineDoesNotExist"):
            workflow.start(JOB)

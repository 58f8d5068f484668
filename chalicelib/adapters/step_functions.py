"""The state machine by the service's own protocol: AWS Step Functions, or the interpreter on one machine."""

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from chalicelib.adapters.errors import translated
from chalicelib.domain.errors import FLError

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

_LONGEST_ERROR = 256
_LONGEST_CAUSE = 32_768


def step_functions_client(*, region: str, endpoint_url: str | None = None) -> "SFNClient":
    """boto3's client; with ``endpoint_url`` it speaks to the interpreter of this machine, which asks for no credentials."""
    import boto3
    from botocore.config import Config

    key = "local" if endpoint_url else None
    retries = {"max_attempts": 2, "mode": "standard"}
    settings = Config(connect_timeout=5, read_timeout=20, retries=retries, max_pool_connections=32)  # type: ignore[arg-type]
    return boto3.client(
        "stepfunctions",
        region_name=region,
        endpoint_url=endpoint_url,
        aws_access_key_id=key,
        aws_secret_access_key=key,
        config=settings,
    )


class _NothingToDo(FLError):
    """What was asked for holds already; never leaves this module."""


_OVER = {"TaskTimedOut": _NothingToDo, "TaskDoesNotExist": _NothingToDo, "InvalidToken": _NothingToDo}


class StepFunctionsWorkflow:
    """The port Workflow over one state machine. No answer of the service, or a refusal: StoreUnavailable."""

    def __init__(self, client: "SFNClient", state_machine_arn: str) -> None:
        self._client = client
        self._machine = state_machine_arn

    def start(self, job_id: str) -> None:
        """Start the execution named like the job; silent when it runs or has run."""
        with suppress(_NothingToDo), translated({"ExecutionAlreadyExists": _NothingToDo}):
            self._client.start_execution(stateMachineArn=self._machine, name=job_id, input=json.dumps({"job_id": job_id}))

    def succeed(self, token: str) -> None:
        """Answer a waiting task; silent when nobody waits for the token any more."""
        with suppress(_NothingToDo), translated(_OVER):
            self._client.send_task_success(taskToken=token, output="{}")

    def fail(self, token: str, *, error: str, cause: str) -> None:
        """Fail a waiting task; silent when nobody waits for the token any more."""
        with suppress(_NothingToDo), translated(_OVER):
            self._client.send_task_failure(taskToken=token, error=error[:_LONGEST_ERROR], cause=cause[:_LONGEST_CAUSE])

    def heartbeat(self, token: str) -> None:
        """Keep a waiting task alive; silent when nobody waits for the token any more."""
        with suppress(_NothingToDo), translated(_OVER):
            self._client.send_task_heartbeat(taskToken=token)

    def status(self, job_id: str) -> str | None:
        """RUNNING, SUCCEEDED, FAILED, TIMED_OUT or ABORTED; None when there is no such execution."""
        arn = f"{self._machine.replace(':stateMachine:', ':execution:')}:{job_id}"
        with suppress(_NothingToDo), translated({"ExecutionDoesNotExist": _NothingToDo}):
            return self._client.describe_execution(executionArn=arn)["status"]
        return None

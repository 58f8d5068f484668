"""The service's own protocol (AWS JSON 1.0) as a WSGI app, so that boto3 and the ``aws`` command work on the interpreter.

Signatures are not checked: it belongs on a loopback port. A web page cannot reach it, because the target header and the
content type make a browser ask first, and the app never agrees.
"""

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import JsonValue

from local_stack.state_machine.operations import Operations, Refused
from local_stack.state_machine.records import Event, Execution, MachineRow

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

_CONTENT = "application/x-amz-json-1.0"
_TARGET = "AWSStepFunctions."
_LARGEST_BODY = 2 * 1024 * 1024

Body = Mapping[str, JsonValue]
Answer = dict[str, JsonValue]

logger = logging.getLogger(__name__)


class Protocol:
    """The WSGI app. ``operations`` is asked at each request, so that the app may be made before the engine starts."""

    def __init__(self, operations: Callable[[], Operations]) -> None:
        self._operations = operations

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Answer one request; what AWS refuses is a 400 with AWS's code."""
        try:
            status, answer = "200 OK", self._answer(environ)
        except Refused as refusal:
            status, answer = "400 Bad Request", {"__type": refusal.code, "message": refusal.message}
        except Exception:
            logger.exception("a request to the state machines failed", extra={"target": environ.get("HTTP_X_AMZ_TARGET")})
            status, answer = "500 Internal Server Error", {"__type": "InternalFailure", "message": "see the log of the stack"}
        data = json.dumps(answer).encode()
        start_response(status, [("Content-Type", _CONTENT), ("Content-Length", str(len(data)))])
        return [data]

    def _answer(self, environ: "WSGIEnvironment") -> Answer:
        target = environ.get("HTTP_X_AMZ_TARGET", "")
        operation = _OPERATIONS.get(target.removeprefix(_TARGET)) if target.startswith(_TARGET) else None
        if operation is None or environ["REQUEST_METHOD"] != "POST":
            raise Refused("UnknownOperationException", f"'{target}' is no operation of this service")
        if not str(environ.get("CONTENT_TYPE", "")).startswith("application/x-amz-json"):
            raise Refused("ValidationException", f"the content type has to be {_CONTENT}")
        return operation(self._operations(), _body(environ))


def _body(environ: "WSGIEnvironment") -> Body:
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if length > _LARGEST_BODY:
        raise Refused("ValidationException", f"the request is larger than {_LARGEST_BODY} bytes")
    try:
        body = json.loads(environ["wsgi.input"].read(length) or b"{}")
    except ValueError as error:
        raise Refused("SerializationException", f"the request is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise Refused("SerializationException", "the request is no JSON object")
    return body


def _text(body: Body, field: str) -> str:
    value = _maybe(body, field)
    if value is None:
        raise Refused("ValidationException", f"1 validation error detected: Value at '{field}' must not be null")
    return value


def _maybe(body: Body, field: str) -> str | None:
    value = body.get(field)
    if value is not None and not isinstance(value, str):
        raise Refused("SerializationException", f"'{field}' has to be a string")
    return value


def _page(items: Sequence[Answer], body: Body, key: str) -> Answer:
    size, token = body.get("maxResults") or 100, _maybe(body, "nextToken") or "0"
    if not isinstance(size, int) or not 0 < size <= 1000:
        raise Refused("ValidationException", "'maxResults' has to lie between 0 and 1000")
    if not token.isdecimal():
        raise Refused("InvalidToken", f"Invalid Token: '{token}'")
    end = int(token) + size
    page: list[JsonValue] = list(items[int(token) : end])
    return {key: page, **({"nextToken": str(end)} if end < len(items) else {})}


# --- machines


def _create_machine(on: Operations, body: Body) -> Answer:
    machine = on.create_machine(_text(body, "name"), _text(body, "definition"), _text(body, "roleArn"))
    return {"stateMachineArn": machine.arn, "creationDate": machine.created}


def _update_machine(on: Operations, body: Body) -> Answer:
    machine = on.update_machine(_text(body, "stateMachineArn"), _maybe(body, "definition"), _maybe(body, "roleArn"))
    return {"updateDate": machine.updated}


def _describe_machine(on: Operations, body: Body) -> Answer:
    machine = on.machine(_text(body, "stateMachineArn"))
    return {**_listed_machine(machine), "status": "ACTIVE", "definition": machine.definition, "roleArn": machine.role}


def _list_machines(on: Operations, body: Body) -> Answer:
    return _page([_listed_machine(machine) for machine in on.machines()], body, "stateMachines")


def _listed_machine(machine: MachineRow) -> Answer:
    return {"stateMachineArn": machine.arn, "name": machine.name, "type": "STANDARD", "creationDate": machine.created}


# --- executions


def _start_execution(on: Operations, body: Body) -> Answer:
    given = _maybe(body, "input")
    execution = on.start_execution(_text(body, "stateMachineArn"), _maybe(body, "name"), "{}" if given is None else given)
    return {"executionArn": execution.arn, "startDate": execution.started}


def _stop_execution(on: Operations, body: Body) -> Answer:
    return {"stopDate": on.stop_execution(_text(body, "executionArn"), _maybe(body, "error"), _maybe(body, "cause")).stopped}


def _describe_execution(on: Operations, body: Body) -> Answer:
    execution = on.execution(_text(body, "executionArn"))
    ends: Answer = {"output": execution.output, "error": execution.error, "cause": execution.cause}
    shown = {key: value for key, value in ends.items() if value is not None}
    return {**_listed_execution(execution), "input": execution.input, "inputDetails": {"included": True}, **shown}


def _list_executions(on: Operations, body: Body) -> Answer:
    found = on.executions(_text(body, "stateMachineArn"), _maybe(body, "statusFilter"))
    return _page([_listed_execution(execution) for execution in found], body, "executions")


def _listed_execution(execution: Execution) -> Answer:
    shown: Answer = {
        "executionArn": execution.arn,
        "stateMachineArn": execution.machine,
        "name": execution.name,
        "status": execution.status,
        "startDate": execution.started,
    }
    return shown if execution.stopped is None else {**shown, "stopDate": execution.stopped}


def _history(on: Operations, body: Body) -> Answer:
    events = [_event(event) for event in on.history(_text(body, "executionArn"))]
    return _page(events[::-1] if body.get("reverseOrder") is True else events, body, "events")


def _event(event: Event) -> Answer:
    return {"timestamp": event.at, "type": event.type, "id": event.number, "previousEventId": event.previous, **event.details}


# --- tasks


def _task_success(on: Operations, body: Body) -> Answer:
    on.succeed(_text(body, "taskToken"), _text(body, "output"))
    return {}


def _task_failure(on: Operations, body: Body) -> Answer:
    on.fail(_text(body, "taskToken"), _maybe(body, "error"), _maybe(body, "cause"))
    return {}


def _task_heartbeat(on: Operations, body: Body) -> Answer:
    on.heartbeat(_text(body, "taskToken"))
    return {}


_OPERATIONS: Mapping[str, Callable[[Operations, Body], Answer]] = {
    "CreateStateMachine": _create_machine,
    "UpdateStateMachine": _update_machine,
    "DescribeStateMachine": _describe_machine,
    "ListStateMachines": _list_machines,
    "StartExecution": _start_execution,
    "StopExecution": _stop_execution,
    "DescribeExecution": _describe_execution,
    "ListExecutions": _list_executions,
    "GetExecutionHistory": _history,
    "SendTaskSuccess": _task_success,
    "SendTaskFailure": _task_failure,
    "SendTaskHeartbeat": _task_heartbeat,
}

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
_LONGEST_OUTPUT, _LONGEST_ERROR, _LONGEST_CAUSE = 262_144, 256, 32_768

_STATUSES = ("RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED", "PENDING_REDRIVE")

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
            known = ", ".join(_OPERATIONS)
            raise Refused(
                "UnknownOperationException", f"'{target}' is no operation of this service on one machine; it has {known}"
            )
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


def _text(body: Body, field: str, longest: int = _LARGEST_BODY) -> str:
    value = _maybe(body, field, longest)
    if value is None:
        raise Refused("ValidationException", f"1 validation error detected: Value at '{field}' must not be null")
    return value


def _maybe(body: Body, field: str, longest: int = _LARGEST_BODY) -> str | None:
    value = body.get(field)
    if value is not None and not isinstance(value, str):
        raise Refused("SerializationException", f"'{field}' has to be a string")
    if value is not None and len(value) > longest:
        raise Refused("ValidationException", f"1 validation error detected: '{field}' must have at most {longest} characters")
    return value


def _page(found: Callable[[int, int], Sequence[Answer]], body: Body, key: str) -> Answer:
    """A page of what ``found`` gives for (to skip, at most): it is asked for one more, which tells whether a page follows."""
    size, token = body.get("maxResults") or 100, _maybe(body, "nextToken") or "0"
    if not isinstance(size, int) or not 0 < size <= 1000:
        raise Refused("ValidationException", "'maxResults' has to lie between 0 and 1000")
    if not token.isdecimal():
        raise Refused("InvalidToken", f"Invalid Token: '{token}'")
    items = found(int(token), size + 1)
    page: list[JsonValue] = list(items[:size])
    return {key: page, **({"nextToken": str(int(token) + size)} if len(items) > size else {})}


def _slice(items: Sequence[Answer]) -> Callable[[int, int], Sequence[Answer]]:
    return lambda skip, most: items[skip : skip + most]


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
    return _page(_slice([_listed_machine(machine) for machine in on.machines()]), body, "stateMachines")


def _listed_machine(machine: MachineRow) -> Answer:
    return {"stateMachineArn": machine.arn, "name": machine.name, "type": "STANDARD", "creationDate": machine.created}


# --- executions


def _start_execution(on: Operations, body: Body) -> Answer:
    given = _maybe(body, "input")
    execution = on.start_execution(_text(body, "stateMachineArn"), _maybe(body, "name"), "{}" if given is None else given)
    return {"executionArn": execution.arn, "startDate": execution.started}


def _stop_execution(on: Operations, body: Body) -> Answer:
    return {"stopDate": on.stop_execution(_text(body, "executionArn"), *_why(body)).stopped}


def _why(body: Body) -> tuple[str | None, str | None]:
    return _maybe(body, "error", _LONGEST_ERROR), _maybe(body, "cause", _LONGEST_CAUSE)


def _describe_execution(on: Operations, body: Body) -> Answer:
    execution = on.execution(_text(body, "executionArn"))
    ends: Answer = {"output": execution.output, "error": execution.error, "cause": execution.cause}
    shown: Answer = {key: value for key, value in ends.items() if value is not None}
    redrive: Answer = {"redriveCount": 0, "redriveStatus": "NOT_REDRIVABLE"}
    return {**_listed_execution(execution), "input": execution.input, "inputDetails": {"included": True}, **redrive, **shown}


def _list_executions(on: Operations, body: Body) -> Answer:
    status = _maybe(body, "statusFilter")
    if status not in (None, *_STATUSES):
        raise Refused(
            "ValidationException", f"1 validation error detected: 'statusFilter' has to be one of {', '.join(_STATUSES)}"
        )
    found = on.executions(_text(body, "stateMachineArn"), status)
    return _page(_slice([_listed_execution(execution) for execution in found]), body, "executions")


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
    arn, backwards = _text(body, "executionArn"), body.get("reverseOrder") is True
    data = body.get("includeExecutionData") is not False

    def found(skip: int, most: int) -> Sequence[Answer]:
        return [_event(event, data=data) for event in on.history(arn, skip, most, backwards=backwards)]

    return _page(found, body, "events")


def _event(event: Event, *, data: bool) -> Answer:
    details = event.details if data else {key: _without_data(value) for key, value in event.details.items()}
    return {"timestamp": event.at, "type": event.type, "id": event.number, "previousEventId": event.previous, **details}


def _without_data(details: JsonValue) -> JsonValue:
    return {k: v for k, v in details.items() if k not in ("input", "output")} if isinstance(details, dict) else details


def _redrive(on: Operations, body: Body) -> Answer:
    on.redrive(_text(body, "executionArn"))
    return {}


# --- tasks


def _task_success(on: Operations, body: Body) -> Answer:
    on.succeed(_text(body, "taskToken"), _text(body, "output", _LONGEST_OUTPUT))
    return {}


def _task_failure(on: Operations, body: Body) -> Answer:
    on.fail(_text(body, "taskToken"), *_why(body))
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
    "RedriveExecution": _redrive,
    "SendTaskSuccess": _task_success,
    "SendTaskFailure": _task_failure,
    "SendTaskHeartbeat": _task_heartbeat,
}

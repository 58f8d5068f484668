"""moto's Step Functions on a real port, as a second opinion on what AWS does with a machine.

moto calls functions over HTTP at its own address, so one WSGI app in front answers those calls from Python and hands
everything else to moto. Nothing inside moto is replaced.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import httpx
import pytest
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from pydantic import JsonValue
from werkzeug.serving import WSGIRequestHandler, make_server

from local_stack.state_machine.engine import called
from local_stack.state_machine.faults import Fault
from local_stack.state_machine.records import Event
from local_stack.state_machine.walk import Launch
from tests.state_machine.builders import ROLE, Function, Json, Outcome, Slow
from tests.state_machine.served import client_of

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment
    from mypy_boto3_stepfunctions import SFNClient


_CALL = re.compile(r"/2015-03-31/functions/(\w+)-(\w+)/invocations")
_LONGEST = 60.0
_PATIENCE_S = 120
_RUN_MACHINES = {"stepfunctions": {"execute_state_machine": True}}


class RealWorld:
    """Real time, and tasks that are answered through boto3."""

    def __init__(self, client: "SFNClient") -> None:
        self._client = client

    @property
    def operations(self) -> "RealWorld":
        """The service."""
        return self

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Do this that much later, in a thread of its own."""
        timer = threading.Timer(seconds, action)
        timer.daemon = True
        timer.start()

    def succeed(self, token: str, output: str) -> None:
        """End the task with this JSON."""
        self._client.send_task_success(taskToken=token, output=output)

    def fail(self, token: str, error: str | None, cause: str | None) -> None:
        """Fail the task."""
        given = {key: text for key, text in (("error", error), ("cause", cause)) if text is not None}
        self._client.send_task_failure(taskToken=token, **given)

    def heartbeat(self, token: str) -> None:
        """Keep the task alive."""
        self._client.send_task_heartbeat(taskToken=token)


class _FunctionsBefore:
    """Answers calls of functions itself, as Lambda does; everything else is moto's."""

    def __init__(self, sets: Mapping[str, Mapping[str, Function]]) -> None:
        self._sets = sets
        self._moto = DomainDispatcherApplication(create_backend_app)

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        found = _CALL.fullmatch(environ["PATH_INFO"])
        if found is None:
            return cast(Iterable[bytes], self._moto(environ, start_response))
        function = self._sets[found[1]][found[2]]
        text = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        outcome = called(lambda _name, payload: _slept(function(cast(Json, payload))), Launch("", "", json.loads(text), False))
        body = outcome.cause.encode() if isinstance(outcome, Fault) else json.dumps(outcome[0]).encode()
        failed = [("X-Amz-Function-Error", "Unhandled")] if isinstance(outcome, Fault) else []
        start_response("200 OK", [("Content-Length", str(len(body))), ("X-Amz-Executed-Version", "$LATEST"), *failed])
        return [body]


def _slept(answer: "JsonValue | Slow") -> JsonValue:
    if not isinstance(answer, Slow):
        return answer
    time.sleep(answer.seconds)
    return answer.answer


class _Silent(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: object) -> None:
        """Nothing."""


class Moto:
    """moto as served; each machine has functions of its own."""

    def __init__(self, client: "SFNClient", sets: dict[str, Mapping[str, Function]]) -> None:
        self.client = client
        self._sets = sets

    def start(self, definition: Json, given: JsonValue, functions: Mapping[str, Function]) -> str:
        """Start the machine with these functions; the execution's ARN."""
        key = f"m{len(self._sets)}"
        self._sets[key] = functions
        text = json.dumps(_with_own_functions(definition, key))
        arn = self.client.create_state_machine(name=key, definition=text, roleArn=ROLE)["stateMachineArn"]
        return self.client.start_execution(stateMachineArn=arn, name=key, input=json.dumps(given))["executionArn"]

    def outcome(self, arn: str) -> Outcome:
        """How the execution ended; RUNNING when it did not within a minute, and then it is stopped."""
        deadline = time.monotonic() + _LONGEST
        while (found := self.client.describe_execution(executionArn=arn))["status"] == "RUNNING" and time.monotonic() < deadline:
            time.sleep(0.05)
        if found["status"] == "RUNNING":
            self.client.stop_execution(executionArn=arn)
        output = _parsed(found["output"]) if "output" in found else None
        history = self.client.get_execution_history(executionArn=arn)["events"]
        events = [Event(e["id"], 0, e["type"], e.get("previousEventId", 0), cast(Json, e)) for e in history]
        return Outcome(found["status"], output, found.get("error"), found.get("cause"), 0, events)


def _parsed(output: str) -> JsonValue:
    try:
        return cast(JsonValue, json.loads(output))
    except ValueError:
        return {"no JSON": output}


def _with_own_functions(value: JsonValue, key: str) -> JsonValue:
    if isinstance(value, list):
        return [_with_own_functions(item, key) for item in value]
    if not isinstance(value, dict):
        return value
    own = {"FunctionName": f"{key}-{value['FunctionName']}"} if "FunctionName" in value else {}
    return {name: _with_own_functions(item, key) for name, item in value.items()} | own


@contextmanager
def moto_served() -> Iterator[Moto]:
    """moto on a free port of this machine until the end of the block."""
    sets: dict[str, Mapping[str, Function]] = {}
    server = make_server("127.0.0.1", 0, _FunctionsBefore(sets), threaded=True, request_handler=_Silent)
    server.daemon_threads = True  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        # moto's own way to learn where it is served: it calls functions there.
        with pytest.MonkeyPatch.context() as environment, client_of(url, _PATIENCE_S) as client:
            environment.setenv("MOTO_PORT", str(server.server_port))
            httpx.post(f"{url}/moto-api/config", json=_RUN_MACHINES, timeout=_PATIENCE_S).raise_for_status()
            yield Moto(client, sets)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

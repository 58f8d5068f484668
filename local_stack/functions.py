"""The Lambda functions of app.py, called in this process."""

from typing import Any, cast

from pydantic import JsonValue

from chalicelib.ports import WorkerExit


def _handler(name: str) -> Any:
    from app import app

    return app.handler_map[name]


def invoke(name: str, payload: JsonValue) -> JsonValue:
    """Call a function of the state machine by its name; what it raises goes to the state machine."""
    return cast("JsonValue", _handler(name)(payload, None))


def report_upload(event: dict[str, Any]) -> None:
    """Give an EventBridge event of the object store to the door that AWS would give it to."""
    _handler("uploaded")(event, None)


def report_exit(exit_: WorkerExit) -> None:
    """Tell the backend that a worker's process is gone."""
    event = {
        "job_id": exit_.job_id,
        "attempt": exit_.attempt,
        "site": exit_.site,
        "status": exit_.status,
        "out_of_memory": exit_.out_of_memory,
    }
    _handler("worker_exited")(event, None)

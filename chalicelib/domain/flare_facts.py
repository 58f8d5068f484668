"""What a launch and its workers must know of a workspace's configs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import TypeVar

from pydantic import JsonValue

from chalicelib.domain.configs import (
    Config,
    Entry,
    executor_of,
    model_of,
    parameters_of,
    persistor_of,
    read_client,
    read_server,
    text,
    whole_number,
    workflow_of,
)
from chalicelib.domain.errors import BadConfig, BadJson

T = TypeVar("T")


@dataclass(frozen=True)
class Facts:
    """The numbers and names of a workspace's configs; times in seconds, 0 as training timeout meaning no limit."""

    rounds: int
    start_round: int
    heartbeat_timeout_s: int
    wait_s: int
    training_timeout_s: int
    executor_path: str
    model_path: str | None
    """``module.Class``; None when the persistor is given no model."""
    model_arguments: dict[str, JsonValue]
    adapter_module: str
    train_fn: str
    parameters: dict[str, JsonValue]


def read_facts(files: Mapping[str, bytes]) -> Facts:
    """The facts of the configs in ``files`` (path in the workspace → bytes); BadJson or BadConfig with file, line and key."""
    client, server = read_client(files), read_server(files)
    workflow = workflow_of(server)
    executor = executor_of(client, text(workflow, "train_task_name", "train"))
    model = model_of(server)
    return Facts(
        rounds=whole_number(workflow, "num_rounds", 5, 1),
        start_round=whole_number(workflow, "start_round", 0, 0),
        heartbeat_timeout_s=heartbeat_timeout(server),
        wait_s=whole_number(workflow, "wait_time_after_min_received", 10, 0),
        training_timeout_s=whole_number(workflow, "train_timeout", 0, 0),
        executor_path=executor.class_path,
        model_path=model.class_path if model else None,
        model_arguments=model.args if model else {},
        adapter_module=text(executor, "adapter_module", "model_def"),
        train_fn=text(executor, "train_fn", "fl_train_model"),
        parameters=parameters_of(executor),
    )


@dataclass(frozen=True)
class Names:
    """What the processes of a job will import; None where a config says nothing that can be read."""

    adapter_module: str
    train_fn: str
    model_path: str | None
    executor_path: str | None
    persistor_path: str | None


def read_names(files: Mapping[str, bytes]) -> Names:
    """The names in the configs; the wizard's module and function where a config cannot be read."""
    model = _tried(lambda: model_of(read_server(files)))
    return Names(
        adapter_module=_tried(lambda: text(_executor(files), "adapter_module", "model_def")) or "model_def",
        train_fn=_tried(lambda: text(_executor(files), "train_fn", "fl_train_model")) or "fl_train_model",
        model_path=_tried(lambda: model.class_path) if model else None,
        executor_path=_tried(lambda: _executor(files).class_path),
        persistor_path=_tried(lambda: persistor_of(read_server(files)).class_path),
    )


def _executor(files: Mapping[str, bytes]) -> Entry:
    task = _tried(lambda: text(workflow_of(read_server(files)), "train_task_name", "train"))
    return executor_of(read_client(files), task or "train")


def _tried(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except (BadConfig, BadJson):
        return None


def heartbeat_timeout(server: Config) -> int:
    """Seconds a worker may be silent, 600 when the config does not say. Not a number above 0: BadConfig."""
    found = server.object_at("server").get("heart_beat_timeout", 600)
    if isinstance(found, bool) or not isinstance(found, int | float) or found <= 0:
        raise server.wrong("config_number", "must be a number above 0", "server", "heart_beat_timeout")
    return ceil(found)

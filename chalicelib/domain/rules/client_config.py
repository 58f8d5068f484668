"""config_fed_client.json: what every worker runs."""

from collections.abc import Iterator

from chalicelib.contracts.report import Finding
from chalicelib.domain.configs import Config, executor_of, read_client, read_server, text, workflow_of
from chalicelib.domain.errors import BadConfig, BadJson
from chalicelib.domain.findings import from_error
from chalicelib.domain.snapshot import WorkspaceSnapshot


def client_names_an_executor(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """A worker needs one executor for the training task, with the names of your module and function."""
    try:
        client = read_client(ws.texts)
    except (BadConfig, BadJson):
        return
    try:
        _check(client, _task(ws))
    except BadConfig as problem:
        yield from_error(problem)


def _task(ws: WorkspaceSnapshot) -> str:
    try:
        return text(workflow_of(read_server(ws.texts)), "train_task_name", "train")
    except (BadConfig, BadJson):
        return "train"


def _check(client: Config, task: str) -> None:
    executor = executor_of(client, task)
    assert executor.class_path  # noqa: S101 (reading it is the check)
    text(executor, "adapter_module", "model_def")
    text(executor, "train_fn", "fl_train_model")

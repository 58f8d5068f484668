"""config_fed_server.json: the rounds and the components that serve them."""

from collections.abc import Callable, Iterator

from chalicelib.contracts.report import Finding
from chalicelib.domain.configs import (
    Config,
    built_in,
    component_of,
    model_of,
    persistor_of,
    read_server,
    text,
    whole_number,
    workflow_of,
)
from chalicelib.domain.errors import BadConfig, BadJson
from chalicelib.domain.findings import from_error
from chalicelib.domain.flare_facts import heartbeat_timeout
from chalicelib.domain.snapshot import WorkspaceSnapshot
from chalicelib.domain.workspaces import SCATTER_AND_GATHER

_DEFAULT_IDS = {"aggregator_id": "aggregator", "shareable_generator_id": "shareable_generator"}


def server_config_is_complete(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """The workflow has at least one round, sane times, and every component that it names by id."""
    try:
        server = read_server(ws.texts)
        workflow_of(server)
    except BadConfig as problem:
        if problem.finding != "config_missing":
            yield from_error(problem)
        return
    except BadJson:
        return
    checks = (_rounds, _times, heartbeat_timeout, _task, _persistor, _components, _builds)
    found = (finding for check in checks for finding in _found(check, server))
    yield from dict.fromkeys(found)


def _found(check: Callable[[Config], object], server: Config) -> Iterator[Finding]:
    try:
        check(server)
    except BadConfig as problem:
        yield from_error(problem)


def _rounds(server: Config) -> None:
    whole_number(workflow_of(server), "num_rounds", 5, 1)
    whole_number(workflow_of(server), "start_round", 0, 0)


def _times(server: Config) -> None:
    whole_number(workflow_of(server), "wait_time_after_min_received", 10, 0)
    whole_number(workflow_of(server), "train_timeout", 0, 0)


def _task(server: Config) -> None:
    text(workflow_of(server), "train_task_name", "train")


def _persistor(server: Config) -> None:
    assert persistor_of(server).class_path  # noqa: S101 (reading it is the check)
    model = model_of(server)
    if model is not None:
        assert model.class_path  # noqa: S101
        assert model.args is not None  # noqa: S101


def _builds(server: Config) -> None:
    for entry in built_in(server):
        assert entry.class_path  # noqa: S101
        assert entry.args is not None  # noqa: S101


def _components(server: Config) -> None:
    workflow = workflow_of(server)
    if workflow.class_path != SCATTER_AND_GATHER:
        return
    for argument, default in _DEFAULT_IDS.items():
        id = text(workflow, argument, default)
        if component_of(server, id) is None:
            raise server.wrong("component_missing", f"has no component with the id {id!r}", "components")

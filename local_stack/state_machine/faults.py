"""Errors inside an execution, and which names of Retry and Catch they match."""

from collections.abc import Iterable

ALL = "States.ALL"
TASK_FAILED = "States.TaskFailed"
TIMEOUT = "States.Timeout"
HEARTBEAT_TIMEOUT = "States.HeartbeatTimeout"
RUNTIME = "States.Runtime"
DATA_LIMIT = "States.DataLimitExceeded"
PARAMETER_PATH = "States.ParameterPathFailure"
RESULT_PATH = "States.ResultPathMatchFailure"
INTRINSIC = "States.IntrinsicFailure"
NO_CHOICE = "States.NoChoiceMatched"

RESERVED = frozenset({
    ALL, TASK_FAILED, TIMEOUT, HEARTBEAT_TIMEOUT, RUNTIME, DATA_LIMIT, PARAMETER_PATH, RESULT_PATH, INTRINSIC, NO_CHOICE,
    "States.Permissions", "States.BranchFailed",
})  # fmt: skip
"""Every name that AWS keeps for itself and this interpreter knows."""


class Fault(Exception):
    """A state failed: the name Retry and Catch look at, and a cause for people."""

    def __init__(self, error: str, cause: str = "") -> None:
        super().__init__(f"{error}: {cause}")
        self.error = error
        self.cause = cause


class PathNotFound(Fault):
    """A path leads nowhere in this input."""

    def __init__(self, path: str) -> None:
        super().__init__(RUNTIME, f"The JSONPath '{path}' could not be found in the input")


class HistoryFull(Exception):
    """The execution has as many events as one may have; it ends as failed whatever it catches."""


def matches(names: Iterable[str], error: str) -> bool:
    """Whether a Retry or Catch with these names is meant for the error, as AWS matches them."""
    return error != RUNTIME and any(_match(name, error) for name in names)


def _match(name: str, error: str) -> bool:
    if name == ALL:
        return error != DATA_LIMIT
    if name == TASK_FAILED:
        return error not in (TIMEOUT, HEARTBEAT_TIMEOUT, DATA_LIMIT)
    return name == error or (name == TIMEOUT and error == HEARTBEAT_TIMEOUT)

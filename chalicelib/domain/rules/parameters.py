"""The training parameters in the client config."""

from collections.abc import Iterator

from chalicelib.contracts.report import Finding
from chalicelib.domain.configs import executor_of, parameters_of, read_client
from chalicelib.domain.errors import BadConfig, BadJson
from chalicelib.domain.findings import error
from chalicelib.domain.snapshot import WorkspaceSnapshot
from chalicelib.domain.typing_rules import parameter_problem

_HINT = "Rename the parameter; your training function reads it from payload['env'] by that name, also in capitals."


def parameters_have_usable_names(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """A parameter is a Python name, not one the platform sets, and no other's in capitals."""
    try:
        client = read_client(ws.texts)
        executor = executor_of(client)
        names = list(parameters_of(executor))
    except (BadConfig, BadJson):
        return
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.upper(), name)
        why = parameter_problem(name) or (f"{name} and {other} are the same in capitals" if other != name else None)
        if why:
            line, column = client.json.place(*executor.keys, "args", name)
            key = ".".join(map(str, (*executor.keys, "args", name)))
            place = f"{client.path}: {why}"
            yield error("parameter_name", place, path=client.path, line=line, column=column, key=key, hint=_HINT)

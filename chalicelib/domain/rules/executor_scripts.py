"""The executor and the persistor that the configs name."""

from collections.abc import Callable, Iterator

from chalicelib.contracts.report import Finding
from chalicelib.domain.configs import Entry, executor_of, persistor_of, read_client, read_server
from chalicelib.domain.errors import BadConfig, BadJson
from chalicelib.domain.findings import error, note
from chalicelib.domain.snapshot import WorkspaceSnapshot
from chalicelib.domain.workspaces import EXECUTOR, PERSISTOR

_SUPPLIED = (EXECUTOR, PERSISTOR)
_INSTALLED = ("nvflare", "tutti_worker")


def named_scripts_are_there(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """What the configs name lies in scripts/; the platform's own executor and persistor are supplied when they do not."""
    readers: tuple[Callable[[], Entry], ...] = (
        lambda: executor_of(read_client(ws.texts)),
        lambda: persistor_of(read_server(ws.texts)),
    )
    for read in readers:
        try:
            entry = read()
            module = entry.class_path.partition(".")[0]
        except (BadConfig, BadJson):
            continue
        yield from _missing(ws, entry, module)


def _missing(ws: WorkspaceSnapshot, entry: Entry, module: str) -> Iterator[Finding]:
    path = f"scripts/{module}.py"
    if module in _INSTALLED or ws.has(path) or ws.has(f"scripts/{module}/__init__.py"):
        return
    if f"{module}.py" in _SUPPLIED:
        yield note("script_supplied", f"{path} is not there; the platform's own is used", path=path)
        return
    line, column = entry.config.json.place(*entry.keys)
    message = f"{path} is missing, and {entry.config.path} (line {line}) names {entry.class_path}"
    yield error("script_missing", message, path=path, hint=f"Upload {module}.py into scripts/.", line=line, column=column)

"""model_def.py: there, Python, and with the names the configs say."""

from collections.abc import Iterator

from chalicelib.contracts.report import Finding, Level
from chalicelib.domain.errors import BadPlace
from chalicelib.domain.findings import error, from_error
from chalicelib.domain.flare_facts import Names, read_names
from chalicelib.domain.python_text import Module, read_module
from chalicelib.domain.snapshot import WorkspaceSnapshot


def training_module_is_there(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """Without the training module no round can run; it does not keep a user from looking at the launch page."""
    name = read_names(ws.texts).adapter_module
    if _path_of(ws, name) is None:
        path = f"scripts/{name.replace('.', '/')}.py"
        hint = "Save model_def_wrapper_template.py as model_def.py, add your model and training, and upload it."
        yield error("model_def_missing", f"{path} is missing", path=path, hint=hint)


def scripts_are_python(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """Every .py in scripts/ parses as Python 3.11, which the workers run; one that no config names only warns."""
    named = {_path_of(ws, module) for module in _named_modules(ws)}
    for path, source in ws.texts.items():
        if path.startswith("scripts/") and path.endswith(".py"):
            try:
                read_module(source, path)
            except BadPlace as problem:
                found = from_error(problem, "python_syntax")
                yield found if path in named else found.model_copy(update={"level": Level.WARNING})


def _named_modules(ws: WorkspaceSnapshot) -> set[str]:
    names = read_names(ws.texts)
    homes = (names.model_path, names.executor_path, names.persistor_path)
    return {names.adapter_module, *(home.rpartition(".")[0] for home in homes if home)}


def training_names_are_defined(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """The training module defines the training function as a plain function, and its own module the model class."""
    names = read_names(ws.texts)
    yield from _function(ws, names)
    yield from _class(ws, names)


def _function(ws: WorkspaceSnapshot, names: Names) -> Iterator[Finding]:
    path, module = _module(ws, names.adapter_module)
    if path is None or module is None:
        return
    if not module.may_have(names.train_fn):
        message = f"{path} has no function {names.train_fn}"
        yield error("train_fn_missing", message, path=path, hint=_spelling(module, names.train_fn))
    elif names.train_fn in module.coroutines:
        line = module.coroutines[names.train_fn]
        message = f"{path}: {names.train_fn} is 'async def' (line {line}); nobody would await it"
        yield error("train_fn_async", message, path=path, line=line, hint="Write it as a plain def.")


def _class(ws: WorkspaceSnapshot, names: Names) -> Iterator[Finding]:
    if names.model_path is None:
        return
    home, _, name = names.model_path.rpartition(".")
    path, module = _module(ws, home or names.adapter_module)
    if path is not None and module is not None and not module.may_have(name):
        message = f"{path} has no class {name}, which configs/config_fed_server.json names as the model"
        yield error("model_class_missing", message, path=path, hint=_spelling(module, name))


def _module(ws: WorkspaceSnapshot, name: str) -> tuple[str | None, Module | None]:
    path = _path_of(ws, name)
    if path is None or path not in ws.texts:
        return path, None
    try:
        return path, read_module(ws.texts[path], path)
    except BadPlace:
        return path, None


def _path_of(ws: WorkspaceSnapshot, module: str) -> str | None:
    base = f"scripts/{module.replace('.', '/')}"
    return next((path for path in (f"{base}.py", f"{base}/__init__.py") if ws.has(path)), None)


def _spelling(module: Module, wanted: str) -> str:
    near = module.nearest(wanted)
    return f"Did you mean {near}?" if near else f"Define {wanted} at the top level, or change the name in the configs."

"""The user's code tried out before a federation is built: import, names, and the model itself."""

import importlib
import json
import linecache
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from chalicelib.contracts.job import Cause, ReasonCode
from tutti_worker.launched_copy import client_config, executor_of, model_of, server_config
from tutti_worker.memory import said_so
from tutti_worker.missing_module import advice
from tutti_worker.trouble import Failure, failure

_MOST_LINES = 40


def main(argv: Sequence[str]) -> int:
    """In a forked process: job folder, file for the cause, ``server`` or ``client``; exit status 1 when there is one."""
    folder, result, role = Path(argv[0]), Path(argv[1]), argv[2]
    try:
        check(folder, build_model=role == "server")
    except Failure as found:
        result.write_text(found.cause.model_dump_json())
        return 1
    return 0


def check(folder: Path, *, build_model: bool) -> None:
    """Import the training module, find what the configs name in it, and build the model when asked.

    Raises Failure import_failed, name_missing, model_build_failed or config_invalid.
    """
    custom = folder / "app" / "custom"
    sys.path.insert(0, str(custom))
    client, server = _configs(folder)
    arguments = executor_of(client).get("args", {})
    adapter = str(arguments.get("adapter_module", "model_def"))
    module = _import(adapter, custom)
    _find(module, str(arguments.get("train_fn", "fl_train_model")), "training function", adapter, custom)
    for path in sorted(set(_own_paths((client, server), custom))):
        name, _, attribute = path.rpartition(".")
        _find(_import(name, custom), attribute, "class", name, custom)
    model = model_of(server)
    if build_model and model:
        _build(model, custom)


def _configs(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        return client_config(folder), server_config(folder)
    except (OSError, ValueError) as error:
        raise failure(ReasonCode.CONFIG_INVALID, f"a config of the launched copy cannot be read: {error}") from error


def _own_paths(value: Any, custom: Path) -> Iterator[str]:
    """Every ``{"path": "module.Class"}`` whose module is one of the user's files."""
    if isinstance(value, dict):
        path = value.get("path")
        if isinstance(path, str) and "." in path and _is_own(path.rpartition(".")[0], custom):
            yield path
        for part in value.values():
            yield from _own_paths(part, custom)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _own_paths(part, custom)


def _is_own(module: str, custom: Path) -> bool:
    place = custom.joinpath(*module.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def _import(name: str, custom: Path) -> Any:
    return _guarded(lambda: importlib.import_module(name), ReasonCode.IMPORT_FAILED, f"importing {name} failed", custom)


def _find(module: Any, name: str, what: str, module_name: str, custom: Path) -> None:
    if not callable(getattr(module, name, None)):
        raise failure(
            ReasonCode.NAME_MISSING,
            f"{module_name} has no {what} {name}; define it or name another one in the configs.",
            file=_shown(getattr(module, "__file__", None) or "", custom),
        )


def _build(model: dict[str, Any], custom: Path) -> None:
    path = str(model["path"])
    module, _, name = path.rpartition(".")
    arguments = model.get("args") or {}
    made = getattr(_import(module, custom), name)
    doing = f"building {path} with the arguments {', '.join(arguments) or 'none'} failed"
    built = _guarded(lambda: made(**arguments), ReasonCode.MODEL_BUILD_FAILED, doing, custom, made)
    if not callable(getattr(built, "state_dict", None)):
        raise failure(
            ReasonCode.MODEL_BUILD_FAILED,
            f"{path} builds a {type(built).__name__}, which has no state_dict; it must be a torch.nn.Module.",
        )


def _guarded(action: Callable[[], Any], code: ReasonCode, doing: str, custom: Path, called: Any = None) -> Any:
    try:
        return action()
    except BaseException as error:
        short = isinstance(error, MemoryError) or said_so([str(error)])
        raise _explained(error, ReasonCode.OUT_OF_MEMORY if short else code, doing, custom, called) from error


def _explained(error: BaseException, code: ReasonCode, doing: str, custom: Path, called: Any) -> Failure:
    file, line = _place(error, custom)
    if file is None:  # the call itself was wrong
        file, line = _definition(called, custom)
    where = f" in {file}, line {line}" if file else ""
    return failure(
        code,
        f"{doing}{where}: {_said(error)}{_advice(error, custom)}",
        file=file,
        line=line,
        evidence=_evidence(error, custom),
    )


def _said(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text}"[:500]


def _advice(error: BaseException, custom: Path) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"; {advice(error.name, custom.parent.parent)}"
    return ""


def _place(error: BaseException, custom: Path) -> tuple[str | None, int | None]:
    if isinstance(error, SyntaxError) and error.filename and _inside(error.filename, custom):
        return _shown(error.filename, custom), error.lineno
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _inside(frame.filename, custom)]
    if not frames:
        return None, None
    return _shown(frames[-1].filename, custom), frames[-1].lineno


def _definition(called: Any, custom: Path) -> tuple[str | None, int | None]:
    code = getattr(getattr(called, "__init__", None), "__code__", None)
    return (_shown(code.co_filename, custom), code.co_firstlineno) if code and _inside(code.co_filename, custom) else (None, None)


def _evidence(error: BaseException, custom: Path) -> tuple[str, ...]:
    linecache.checkcache()
    frames = traceback.extract_tb(error.__traceback__)
    first = next((at for at, frame in enumerate(frames) if _inside(frame.filename, custom)), len(frames))
    shown = ["Traceback (most recent call last):\n", *traceback.format_list(frames[first:])] if first < len(frames) else []
    lines = "".join([*shown, *traceback.format_exception_only(error)]).splitlines()
    return tuple(_relative(line, custom)[:500] for line in lines[-_MOST_LINES:])


def _inside(filename: str, custom: Path) -> bool:
    return Path(filename).is_relative_to(custom)


def _shown(filename: str, custom: Path) -> str | None:
    return f"scripts/{Path(filename).relative_to(custom).as_posix()}" if _inside(filename, custom) else None


def _relative(line: str, custom: Path) -> str:
    return line.replace(f"{custom}/", "scripts/")


def read_cause(result: Path) -> Cause | None:
    """The cause a preflight left; None when it found nothing."""
    return Cause.model_validate(json.loads(result.read_text())) if result.is_file() else None

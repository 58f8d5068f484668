"""A workspace's scripts folder, and the NVFLARE context in which its files run."""

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from nvflare.apis.dxo import DXO, DataKind
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.fl_context import FLContext, FLContextManager
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal
from nvflare.app_common.app_constant import AppConstants

import chalicelib.job_scripts

SOURCES = Path(chalicelib.job_scripts.__file__).parent


class Engine:
    """Stands where NVFLARE's engine stands: knows the run folder and passes events to its listeners."""

    def __init__(self, folder: Path, clients: tuple[str, ...] = ()) -> None:
        self.folder, self.clients = folder, clients
        self.listeners: list[FLComponent] = []
        self.fired: list[tuple[str, Any]] = []

    def get_workspace(self) -> "Engine":
        return self

    def get_run_dir(self, job_id: str) -> str:
        return str(self.folder / job_id)

    def get_clients(self) -> list[Any]:
        return [Client(name) for name in self.clients]

    def fire_event(self, event_type: str, fl_ctx: FLContext) -> None:
        self.fired.append((event_type, fl_ctx.get_prop(FLContextKey.EVENT_DATA)))
        for listener in self.listeners:
            listener.handle_event(event_type, fl_ctx)


class Client:
    """A registered site."""

    def __init__(self, name: str) -> None:
        self.name = name


class Runner:
    """Routes tasks to an executor, as NVFLARE's client runner does by its config."""

    def __init__(self, executor: Any, tasks: tuple[str, ...]) -> None:
        self.executor, self.tasks = executor, tasks

    def find_executor(self, task: str) -> Any:
        return self.executor if task in self.tasks else None


def context(engine: Engine, identity: str = "site-1") -> FLContext:
    """The context of a job's process."""
    manager = FLContextManager(engine=engine, identity_name=identity, job_id="run-1", public_stickers={}, private_stickers={})
    return manager.new_context()


def request(weights: dict[str, Any] | None, *, round: int = 0, rounds: int = 3, **meta: Any) -> Shareable:
    """A task as the server sends it."""
    shareable = DXO(DataKind.WEIGHTS, data=weights or {}, meta=meta).to_shareable()
    shareable.set_header(AppConstants.CURRENT_ROUND, round)
    shareable.set_header(AppConstants.NUM_ROUNDS, rounds)
    return shareable


class Site:
    """One site with its own copy of the executor beside a model_def of the test's."""

    def __init__(self, folder: Path, model_def: str, **args: Any) -> None:
        self.scripts, self.engine = folder / "scripts", Engine(folder / "run")
        self.scripts.mkdir(parents=True)
        shutil.copy(SOURCES / "custom_client_executor.py", self.scripts)
        (self.scripts / "model_def.py").write_text(model_def)
        self.module = loaded(self.scripts / "custom_client_executor.py")
        self.executor = self.module.GenericClientExecutor(data_root=str(folder / "data"), **args)
        (folder / "data").mkdir()
        self.abort = Signal()

    def run(self, task: str, shareable: Shareable, routed: tuple[str, ...] = ("train", "validate")) -> Shareable:
        """The executor's answer to a task."""
        fl_ctx = context(self.engine)
        fl_ctx.set_prop(FLContextKey.RUNNER, Runner(self.executor, routed), private=True)
        with importable(self.scripts):
            return self.executor.execute(task, shareable, fl_ctx, self.abort)

    def train(self, weights: dict[str, Any] | None, **options: Any) -> Shareable:
        """The executor's answer to a train task."""
        return self.run("train", request(weights, **options))


def loaded(path: Path) -> ModuleType:
    """A Python file as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"copy_of_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Imports from the folder work inside, and model_def is forgotten afterwards."""
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("model_def", None)

"""NVFLARE's own main programs, run in a forked process with short waits."""

import importlib
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from tutti_worker.whereabouts import keep_stacks

JOB_LEFT = "TUTTI_JOB_LEFT"
"""Names the file that shall exist once a job process has ended in order."""
_GRACE_S = 0.2
"""NVFLARE waits 3 s before each cleanup; nothing is pending in a federation of one job."""


def server(argv: Sequence[str]) -> int:
    """The server's parent process."""
    return _parent("nvflare.private.fed.app.server.server_train", argv)


def client(argv: Sequence[str]) -> int:
    """A client's parent process."""
    return _parent("nvflare.private.fed.app.client.client_train", argv)


def job(argv: Sequence[str]) -> int:
    """A job process of either role; the first argument is NVFLARE's module."""
    keep_stacks(os.environ)
    module = importlib.import_module(argv[0])
    sys.argv = list(argv)
    arguments = module.parse_arguments()
    return _run(module, os.path.join(arguments.workspace, arguments.job_id), arguments, noted_end(module.main))  # noqa: PTH118


def noted_end(main: Callable[..., object]) -> Callable[..., object]:
    """``main``, and a note once it has returned; without one an exit status of 0 says nothing, user code may exit too."""

    def run(*positional: object, **named: object) -> object:
        status = main(*positional, **named)
        if place := os.environ.get(JOB_LEFT):
            Path(place).touch()
        return status

    return run


def left_in_order(environ: Mapping[str, str]) -> bool:
    """True once the job process has noted its end; also where nobody asked for the note."""
    place = environ.get(JOB_LEFT)
    return place is None or Path(place).exists()


def _parent(name: str, argv: Sequence[str]) -> int:
    module = importlib.import_module(name)
    module.time = _Impatient()  # type: ignore[attr-defined]
    sys.argv = [name, *argv]
    arguments = module.parse_arguments()
    return _run(module, arguments.workspace, arguments)


def _run(module: ModuleType, folder: str, arguments: object, main: Callable[..., object] | None = None) -> int:
    from nvflare.fuel.f3.mpm import MainProcessMonitor

    status = MainProcessMonitor.run(main_func=main or module.main, run_dir=folder, args=arguments, shutdown_grace_time=_GRACE_S)
    return status if isinstance(status, int) else 0


class _Impatient:
    """Stands for ``time`` in NVFLARE's two main programs, which poll once a second for things that take 50 ms."""

    def sleep(self, seconds: float) -> None:
        time.sleep(min(seconds, 0.05))

    def __getattr__(self, name: str) -> object:
        return getattr(time, name)

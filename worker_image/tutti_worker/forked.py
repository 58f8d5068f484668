"""What a process does first after it was forked from the warm one."""

import importlib
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tutti_worker.messages import ENVIRONMENT, Start


@dataclass(frozen=True)
class Outputs:
    """The write ends of the two log pipes: NVFLARE's parent, and the job with the user's code."""

    nvflare: int
    job: int

    def of(self, title: str) -> int:
        """Where a process of this title writes."""
        return self.job if title in ("job", "preflight") else self.nvflare


def run_entry(entry: str, argv: Sequence[str]) -> int:
    """Call ``module:function`` with ``argv`` and return its exit status."""
    module, _, name = entry.partition(":")
    status = getattr(importlib.import_module(module), name)(list(argv))
    return status if isinstance(status, int) else 0


def settle_in(start: Start, channel: socket.socket, outputs: Outputs) -> None:
    signal.set_wakeup_fd(-1)
    for signum in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, signal.SIG_DFL)
    os.setpgid(0, 0)
    point_output_to(outputs.of(start.title))
    os.environ.update(start.env)
    os.environ[ENVIRONMENT] = str(channel.fileno())
    tempfile.tempdir = None  # the warm process has looked up its own, which outlives the job
    for folder in reversed(start.path):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    importlib.invalidate_caches()
    _fit_libraries()


def point_output_to(descriptor: int) -> None:
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, write_through=True)  # type: ignore[union-attr]


def _fit_libraries() -> None:
    """Forked processes share what was drawn before the fork: give each its own random state and number of threads."""
    if "numpy" in sys.modules:
        import numpy

        numpy.random.seed()
    threads = os.environ.get("OMP_NUM_THREADS", "")
    if "torch" in sys.modules and threads.isdigit():
        import torch

        torch.set_num_threads(max(1, int(threads)))

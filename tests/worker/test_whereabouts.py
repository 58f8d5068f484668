"""Where in the user's scripts a process is: asked of real processes, read from their stacks."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tutti_worker import whereabouts

from tests.worker.builders import PROJECT, eventually

KEEP = "import os, time; from tutti_worker.whereabouts import keep_stacks; keep_stacks(os.environ)\n"
MODEL = "def train():\n    inner()\n\n\ndef inner():\n    {}\n"
STACK = """Thread 0x00007f2 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait
  File "/w/kit/run/app_site-2/custom/custom_client_executor.py", line 99 in _wait

Current thread 0x00007f1 (most recent call first):
  File "/w/kit/run/app_site-2/custom/parts/loop.py", line 12 in step
  File "/w/kit/run/app_site-2/custom/model_def.py", line 31 in fl_train_model
  File "/w/kit/run/app_site-2/custom/custom_client_executor.py", line 240 in _call
  File "/w/nvflare/client_runner.py", line 300 in run
"""


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()


def start(started: list[subprocess.Popen[bytes]], folder: Path, doing: str, keep: str = KEEP) -> subprocess.Popen[bytes]:
    """A process that does something in ``custom/model_def.py``, and says when it is about to."""
    (folder / "custom").mkdir()
    (folder / "custom" / "model_def.py").write_text("import os, time, ctypes\n" + MODEL.format(doing))
    program = f"{keep}import model_def; open('ready', 'w').close(); model_def.train()"
    path = os.pathsep.join(map(str, (PROJECT / "worker_image", PROJECT, folder / "custom")))
    env = {"PYTHONPATH": path, whereabouts.WHEREABOUTS: str(folder / "stacks")}
    started.append(subprocess.Popen([sys.executable, "-c", program], cwd=folder, env=env))
    assert eventually((folder / "ready").exists, 60)
    return started[-1]


@pytest.mark.process
def test_a_process_that_hangs_says_where(started: list[subprocess.Popen[bytes]], tmp_path: Path) -> None:
    process = start(started, tmp_path, "time.sleep(600)")
    time.sleep(0.2)
    place = whereabouts.ask(process.pid, tmp_path / "stacks")
    assert str(place) == "inner in scripts/model_def.py, line 7"
    assert process.poll() is None


@pytest.mark.process
def test_a_process_that_does_not_listen_is_not_asked(started: list[subprocess.Popen[bytes]], tmp_path: Path) -> None:
    process = start(started, tmp_path, "time.sleep(600)", keep="")
    assert (whereabouts.ask(process.pid, tmp_path / "stacks"), process.poll()) == (None, None)


@pytest.mark.process
def test_a_process_that_crashes_says_where(started: list[subprocess.Popen[bytes]], tmp_path: Path) -> None:
    process = start(started, tmp_path, "ctypes.string_at(0)")
    assert process.wait(60) == -signal.SIGSEGV
    assert str(whereabouts.read(tmp_path / "stacks")) == "inner in scripts/model_def.py, line 7"


def test_the_innermost_line_of_the_users_own_counts_whatever_thread_it_is_in(tmp_path: Path) -> None:
    (tmp_path / "stacks").write_text(STACK)
    assert str(whereabouts.read(tmp_path / "stacks")) == "step in scripts/parts/loop.py, line 12"


def test_the_stack_is_shown_as_far_as_it_is_the_users(tmp_path: Path) -> None:
    (tmp_path / "stacks").write_text(STACK)
    place = whereabouts.read(tmp_path / "stacks")
    assert place is not None
    assert [line.strip() for line in place.stack[1:]] == [
        'File "scripts/parts/loop.py", line 12 in step',
        'File "scripts/model_def.py", line 31 in fl_train_model',
    ]


def test_a_file_that_is_not_there_tells_no_place(tmp_path: Path) -> None:
    assert whereabouts.read(tmp_path / "stacks") is None

"""kill -9 of the process that runs the engine, at several moments."""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.state_machine.builders import Json, awaited, machine, passing, task
from tests.state_machine.child import engine_in

pytestmark = pytest.mark.process

PATIENCE_S = 60.0
ROOT = Path(__file__).parents[2]

JOB = machine(
    task("before", Next="B"),
    B={**awaited("keep"), "End": False, "Next": "C", "HeartbeatSeconds": 600},
    C=task("after"),
)  # fmt: skip
ITEMS = machine({
    "Type": "Map", "ItemsPath": "$.xs", "MaxConcurrency": 3, "End": True, "ItemSelector": {"i.$": "$$.Map.Item.Value"},
    "ItemProcessor": {"StartAt": "I", "States": {"I": task("item", {"i.$": "$.i", "s": 0.01})}},
})  # fmt: skip


def _until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


@contextmanager
def _child(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen([sys.executable, "-m", "tests.state_machine.child", str(folder)], cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def _killed_after(folder: Path, happened: Callable[[], bool]) -> None:
    with _child(folder):
        _until(happened)


def _carried_on(folder: Path, answer: bool = False) -> str:
    engine = engine_in(folder)
    engine.start()
    try:
        if answer:
            engine.operations.succeed(_lines(folder / "calls")[-1].split()[-1], "{}")
        arn = engine.operations.machines()[0].arn
        _until(lambda: engine.operations.executions(arn, None)[0].status != "RUNNING")
        return engine.operations.executions(arn, None)[0].status
    finally:
        engine.close()


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[Json], Path]:
    def put(definition: Json) -> Path:
        (tmp_path / "machine.json").write_text(json.dumps(definition))
        return tmp_path

    return put


def _calls(path: Path) -> Counter[str]:
    return Counter(line.split()[0] for line in _lines(path / "calls"))


def test_a_waiting_task_is_not_launched_again_and_its_token_still_counts(folder: Callable[[Json], Path]) -> None:
    path = folder(JOB)
    _killed_after(path, lambda: "TaskSubmitted" in _lines(path / "events"))
    assert _carried_on(path, answer=True) == "SUCCEEDED"
    assert _calls(path) == {"before": 1, "keep": 1, "after": 1}


def test_a_function_that_was_running_is_called_again_and_nothing_else(folder: Callable[[Json], Path]) -> None:
    path = folder(machine(task("before", Next="B"), B=task("long", {"s": 0.5}, Next="C"), C=passing()))
    _killed_after(path, lambda: _calls(path)["long"] == 1)
    assert _carried_on(path) == "SUCCEEDED"
    assert _calls(path) == {"before": 1, "long": 2}


def test_a_launch_that_was_cut_gets_a_new_token(folder: Callable[[Json], Path]) -> None:
    path = folder(machine({**awaited("keep", {"s": 1}), "HeartbeatSeconds": 600}))
    _killed_after(path, lambda: _calls(path)["keep"] == 1)
    _killed_after(path, lambda: _calls(path)["keep"] == 2)
    assert len(set(_lines(path / "calls"))) == 2


def test_a_wait_ends_when_it_would_have_ended(folder: Callable[[Json], Path]) -> None:
    path = folder(machine({"Type": "Wait", "Seconds": 1, "End": True}))
    _killed_after(path, lambda: "WaitStateEntered" in _lines(path / "events"))
    time.sleep(1)
    begun = time.monotonic()
    assert _carried_on(path) == "SUCCEEDED"
    assert time.monotonic() - begun < 0.9


def test_a_map_killed_again_and_again_runs_every_item_and_repeats_only_what_was_running(folder: Callable[[Json], Path]) -> None:
    path, kills = folder(ITEMS), 4
    for kill in range(kills):
        _killed_after(path, lambda kill=kill: len(_lines(path / "calls")) >= 10 * (kill + 1))  # type: ignore[misc]
    assert _carried_on(path) == "SUCCEEDED"
    items = Counter(_lines(path / "calls"))
    assert (len(items), sum(items.values()) <= 60 + 3 * kills) == (60, True)

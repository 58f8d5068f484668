"""The engine in real time: its threads, its file and its sleep."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from local_stack.state_machine import Engine, Refused
from local_stack.state_machine.engine import Invoke
from local_stack.state_machine.records import AlreadyOpen
from tests.state_machine.builders import Json, awaited, catching, machine, passing, task

PATIENCE_S = 20.0


def _echo(_name: str, payload: JsonValue) -> JsonValue:
    return payload


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    engines: list[Engine] = []

    def make(invoke: Invoke = _echo) -> Engine:
        engine = Engine(tmp_path / "states.db", invoke)
        engines.append(engine)
        engine.start()
        return engine

    yield make
    for engine in engines:
        engine.close()


def _start(engine: Engine, definition: Json, name: str = "e", given: str = "{}") -> str:
    return engine.operations.start_execution(engine.operations.install("m", json.dumps(definition)), name, given).arn


def _end(engine: Engine, arn: str) -> tuple[str, str | None]:
    deadline = time.monotonic() + PATIENCE_S
    while (found := engine.operations.execution(arn)).status == "RUNNING":
        assert time.monotonic() < deadline, "the execution did not end in time"
        time.sleep(0.005)
    return found.status, found.output if found.status == "SUCCEEDED" else found.error


def test_a_machine_runs_to_its_end(start: Callable[..., Engine]) -> None:
    engine = start()
    assert _end(engine, _start(engine, machine(task("echo", {"a": 1}, OutputPath="$.Payload")))) == ("SUCCEEDED", '{"a":1}')


def test_making_an_engine_starts_no_thread_and_no_file(tmp_path: Path) -> None:
    before = threading.active_count()
    engine = Engine(tmp_path / "states.db", _echo)
    assert (threading.active_count(), list(tmp_path.iterdir())) == (before, [])
    with pytest.raises(RuntimeError):
        _ = engine.operations


def test_a_closed_engine_leaves_no_thread(start: Callable[..., Engine]) -> None:
    before = threading.active_count()
    engine = start()
    _end(engine, _start(engine, machine(task("echo"))))
    engine.close()
    assert threading.active_count() == before


def test_a_second_engine_on_the_file_is_refused(start: Callable[..., Engine], tmp_path: Path) -> None:
    start()
    with pytest.raises(AlreadyOpen, match="another stack"):
        Engine(tmp_path / "states.db", _echo).start()


def test_silence_is_noticed_in_time(start: Callable[..., Engine]) -> None:
    engine = start()
    silent = machine(awaited("f", HeartbeatSeconds=1, Catch=catching("States.HeartbeatTimeout")), B=passing(Result="silent"))
    begun = time.monotonic()
    assert _end(engine, _start(engine, silent)) == ("SUCCEEDED", '"silent"')
    assert 0.9 < time.monotonic() - begun < 6


def test_a_function_may_answer_its_token_before_it_returns(start: Callable[..., Engine]) -> None:
    def answers(name: str, payload: JsonValue) -> JsonValue:
        assert isinstance(payload, dict)
        engine.operations.succeed(str(payload["token"]), '"early"')
        return None

    engine = start(answers)
    assert _end(engine, _start(engine, machine(awaited("f")))) == ("SUCCEEDED", '"early"')


def test_an_idle_engine_uses_no_processor(start: Callable[..., Engine]) -> None:
    engine = start()
    _start(engine, machine({"Type": "Wait", "Seconds": 600, "End": True}))
    time.sleep(0.2)
    before = time.process_time()
    time.sleep(0.6)
    assert time.process_time() - before < 0.06


def test_starting_again_while_it_runs_gives_the_same_execution(start: Callable[..., Engine]) -> None:
    engine = start()
    waits = machine({"Type": "Wait", "Seconds": 600, "End": True})
    assert _start(engine, waits) == _start(engine, waits)


def test_starting_again_with_another_input_is_refused(start: Callable[..., Engine]) -> None:
    engine = start()
    waits = machine({"Type": "Wait", "Seconds": 600, "End": True})
    _start(engine, waits)
    with pytest.raises(Refused, match="ExecutionAlreadyExists"):
        _start(engine, waits, given="[]")


def test_a_stopped_execution_takes_no_token_any_more(start: Callable[..., Engine]) -> None:
    tokens: list[str] = []

    def keep(_name: str, payload: JsonValue) -> JsonValue:
        assert isinstance(payload, dict)
        tokens.append(str(payload["token"]))
        return None

    engine = start(keep)
    arn = _start(engine, machine(awaited("f")))
    while not tokens:
        time.sleep(0.005)
    engine.operations.stop_execution(arn, "Gone", "by a test")
    with pytest.raises(Refused, match="TaskTimedOut"):
        engine.operations.succeed(tokens[0], "{}")
    assert _end(engine, arn) == ("ABORTED", "Gone")


def test_many_threads_may_start_and_ask_at_once(start: Callable[..., Engine]) -> None:
    engine = start()
    ends: list[tuple[str, str | None]] = []

    def job(number: int) -> None:
        arn = _start(engine, machine(task("echo", {"n": number}, OutputPath="$.Payload")), f"e{number}")
        ends.append(_end(engine, arn))

    engine.operations.install("m", json.dumps(machine(passing())))
    threads = [threading.Thread(target=job, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [status for status, _ in ends] == ["SUCCEEDED"] * 16


def test_an_answer_that_cannot_be_written_is_written_once_there_is_room(start: Callable[..., Engine]) -> None:
    full = threading.Event()

    def fill(_name: str, _payload: JsonValue) -> JsonValue:
        assert engine._records is not None
        pages = engine._records._db.execute("PRAGMA page_count").fetchone()[0]
        engine._records._db.execute(f"PRAGMA max_page_count={pages}")
        full.set()
        return "x" * 100_000

    engine = start(fill)
    arn = _start(engine, machine(task("fill", ResultPath=None)))
    assert full.wait(PATIENCE_S)
    time.sleep(0.5)
    assert engine.operations.execution(arn).status == "RUNNING"
    assert engine._records is not None
    engine._records._db.execute("PRAGMA max_page_count=1000000")
    assert _end(engine, arn) == ("SUCCEEDED", "{}")


def test_an_answer_that_json_cannot_hold_is_an_error_of_the_function(start: Callable[..., Engine]) -> None:
    engine = start(lambda _name, _payload: float("nan"))
    assert _end(engine, _start(engine, machine(task("f")))) == ("FAILED", "Runtime.MarshalError")

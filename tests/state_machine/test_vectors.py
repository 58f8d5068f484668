"""The real-world cases of the workflow: what went wrong elsewhere does not go wrong here."""

import json
import queue
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from chalicelib.adapters.step_functions import StepFunctionsWorkflow
from local_stack.state_machine import Engine
from local_stack.state_machine.limits import Limits
from tests.state_machine.builders import Json, Outcome, Simulation, awaited, machine, project_definition
from tests.state_machine.functions import JobFunctions
from tests.state_machine.served import client_of, served
from tests.world import world as world_in

PATIENCE_S = 60.0
CASES = Path(__file__).parents[1] / "vectors" / "cases"


def _read(case: str, file: str) -> list[Json]:
    rows: list[Json] = json.loads((CASES / case / file).read_text())
    return rows


class TrainsFor(JobFunctions):
    """A job whose training takes so many hours, with a heartbeat every five minutes."""

    hours = 0

    def call(self, name: str, payload: Json) -> JsonValue:
        """As ever, but for the training."""
        if name != "Train":
            return super().call(name, payload)  # type: ignore[return-value]
        token, end = str(payload["token"]), self.hours * 3600
        for second in range(300, end, 300):
            self.on.after(second, lambda: self.on.operations.heartbeat(token))
        self.on.after(end, lambda: self.on.operations.succeed(token, "{}"))
        return None


def _run(sites: int, hours: int = 1) -> Outcome:
    simulation = Simulation()
    functions = TrainsFor(simulation, sites=sites)
    functions.hours = hours
    simulation.functions |= functions.by_name
    try:
        ended = simulation.run(project_definition(), {"job_id": "job-01"})
        assert functions.counts["StartWorker"] == sites
        return ended
    finally:
        simulation.close()


@pytest.mark.slow
def test_two_thousand_shards_are_started_within_the_size_of_a_payload() -> None:
    ended = _run(len(_read("sfn-payload-256kb", "shards.json")))
    assert (ended.status, ended.largest < Limits().payload_bytes) == ("SUCCEEDED", True)


@pytest.mark.slow
@pytest.mark.parametrize("row", _read("sfn-history-25000", "plan.json"), ids=json.dumps)
def test_a_job_of_any_length_stays_within_the_history(row: dict[str, int]) -> None:
    ended = _run(row["workers"], row["hours"])
    assert ended.seconds >= row["hours"] * 3600
    assert (ended.status, len(ended.events) < Limits().events) == ("SUCCEEDED", True)


@pytest.fixture
def tokens() -> "queue.Queue[str]":
    return queue.Queue()


@pytest.fixture
def engine(tmp_path: Path, tokens: "queue.Queue[str]") -> Iterator[tuple[Engine, StepFunctionsWorkflow]]:
    def keep(_name: str, payload: JsonValue) -> JsonValue:
        assert isinstance(payload, dict)
        tokens.put(str(payload["token"]))
        return None

    with served(tmp_path / "states.db", keep) as (found, url), client_of(url) as client:
        machine_arn = found.operations.install("training_job", json.dumps(machine(awaited("train", HeartbeatSeconds=600))))
        yield found, StepFunctionsWorkflow(client, machine_arn)


def test_two_triggers_start_one_execution_and_a_stale_one_changes_nothing(
    engine: tuple[Engine, StepFunctionsWorkflow], tokens: "queue.Queue[str]"
) -> None:
    """An attempt of the trace is a job here, and the execution is named like the job."""
    operations, workflow, old = engine[0].operations, engine[1], ""
    seen: list[dict[str, str | None]] = []
    for row in _read("sfn-duplicate-start", "trace.json"):
        name = f"{row.get('launch', 'job-1')}-{row['attempt']}"
        if "launch" in row:
            workflow.start(name)
        elif row["report"] == "FINISHED":
            old = tokens.get(timeout=PATIENCE_S)
            workflow.succeed(old)
            _until(lambda name=name: workflow.status(name) != "RUNNING")  # type: ignore[misc]
        elif row["report"] == "FAILED":
            workflow.fail(old, error="stale", cause="a duplicate")
        else:
            workflow.heartbeat(old)
        seen.append({e.name: e.status for e in operations.executions(operations.machines()[0].arn, None)})
    done: dict[str, str | None] = {"job-1-1": "SUCCEEDED"}
    assert seen == [{"job-1-1": "RUNNING"}] * 2 + [done] * 2 + [{**done, "job-1-2": "RUNNING"}] * 2


def _until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def test_a_worker_that_never_starts_ends_the_job_by_its_name(tmp_path: Path) -> None:
    """The case ``sfn-worker-never-starts``."""
    with world_in(tmp_path) as world:
        job_id = world.launched(shards=3)
        for site, token in world.start_workers(job_id).items():
            if site != "site-2":
                world.tell(token, {"type": "joined", "address": "127.0.0.1:9"})
        world.tick(24 * 3600)
        assert world.show(job_id)["ending"]["site"] == "site-2"

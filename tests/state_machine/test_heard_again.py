"""A task that waits for its token is not blamed for the time in which nobody listened."""

import json
from collections.abc import Iterator

import pytest
from pydantic import JsonValue

from tests.state_machine.builders import Json, Outcome, Simulation, awaited, machine

PERIOD, END, GRACE = 10, 100, 120


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    made = Simulation({"keep": lambda _: None})
    yield made
    made.close()


def away(simulation: Simulation, seconds: float, **limits: JsonValue) -> tuple[str, str]:
    """An execution whose task waits, after a stop of so many seconds; its ARN and the task's token."""
    arn = simulation.operations.install("m", json.dumps(machine(awaited("keep", None, **limits))))
    execution = simulation.operations.start_execution(arn, None, "{}").arn
    while not simulation.calls or simulation.operations.history(execution)[-1].type != "TaskSubmitted":
        simulation.step()
    payload: Json = simulation.calls[-1][1]  # type: ignore[assignment]
    simulation.now += seconds
    with simulation.records.transaction():
        simulation.records.hear_again_until(simulation.now + GRACE)
    return execution, str(payload["token"])


def ended(simulation: Simulation, arn: str) -> Outcome:
    simulation.run_out(arn)
    return simulation.outcome(arn)


def test_a_task_whose_heartbeat_was_due_during_a_stop_is_waited_for_again(simulation: Simulation) -> None:
    arn, _ = away(simulation, 1000, HeartbeatSeconds=PERIOD)
    assert ended(simulation, arn).seconds == pytest.approx(1000 + GRACE)


def test_a_task_whose_time_was_over_during_a_stop_is_waited_for_again(simulation: Simulation) -> None:
    arn, _ = away(simulation, 1000, TimeoutSeconds=END)
    assert ended(simulation, arn).seconds == pytest.approx(1000 + GRACE)


def test_a_task_heard_after_a_stop_has_its_own_period_again(simulation: Simulation) -> None:
    arn, token = away(simulation, 1000, HeartbeatSeconds=PERIOD)
    simulation.operations.heartbeat(token)
    assert ended(simulation, arn).seconds == pytest.approx(1000 + PERIOD)


def test_a_task_that_answers_after_a_stop_has_succeeded(simulation: Simulation) -> None:
    arn, token = away(simulation, 1000, HeartbeatSeconds=PERIOD, TimeoutSeconds=END)
    simulation.operations.succeed(token, "{}")
    assert ended(simulation, arn).status == "SUCCEEDED"


def test_a_task_with_more_time_left_than_the_stop_took_keeps_it(simulation: Simulation) -> None:
    arn, _ = away(simulation, 5, HeartbeatSeconds=500)
    assert ended(simulation, arn).seconds == pytest.approx(500)

"""The committed definition of a training job, along every way through it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from pydantic import JsonValue

from chalicelib.domain.errors import Busy, JobCannotGoOn, StaleWrite, StillStopping, StoreUnavailable
from local_stack.state_machine.lint import findings
from tests.state_machine.builders import ASL, Json, Outcome, Simulation, Slow, project_definition

JOB: Json = {"job_id": "job-01"}
WAY_OUT = ["Fail", "Release", "Failed"]


@dataclass
class Platform:
    """The functions of a job: they note their calls, fail as told, and answer their tokens a second later."""

    on: Simulation
    sites: int = 3
    errors: dict[str, list[Exception]] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    calls: list[tuple[str, Json]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("Prepare", "StartServer", "StartWorker", "Train", "Collect", "Release", "Fail"):
            self.on.functions[name] = lambda payload, name=name: self.call(name, payload)  # type: ignore[misc]

    def call(self, name: str, payload: Json) -> "JsonValue | Slow":
        """One call of a function."""
        self.calls.append((name, payload))
        if self.errors.get(name):
            raise self.errors[name].pop(0)
        if "token" in payload and name not in self.silent:
            self.on.after(1, lambda: self.on.operations.succeed(str(payload["token"]), "{}"))
        if name == "Prepare":
            return {"sites": [f"site-{i + 1}" for i in range(self.sites)], "heartbeat_s": 660, "start_s": 1000}
        return None

    def run(self) -> Outcome:
        """The job from its start to its end."""
        return self.on.run(project_definition(), JOB)

    def called(self, name: str) -> list[Json]:
        """The payloads this function was called with."""
        return [payload for called, payload in self.calls if called == name]


@pytest.fixture
def platform() -> Iterator[Platform]:
    simulation = Simulation()
    yield Platform(simulation)
    simulation.close()


def test_a_job_goes_through_its_states_to_finished(platform: Platform) -> None:
    ended = platform.run()
    assert ended.states == [
        "Prepare", "StartServer", "StartWorkers", *["StartWorker"] * 3, "Train", "Collect", "Release", "Outcome", "Finished",
    ]  # fmt: skip
    assert ended.status == "SUCCEEDED"


def test_the_functions_get_the_job_and_no_more(platform: Platform) -> None:
    platform.run()
    assert [(name, {k: v for k, v in payload.items() if k != "token"}) for name, payload in platform.calls] == [
        ("Prepare", JOB), ("StartServer", JOB), *[("StartWorker", {**JOB, "site": f"site-{i}"}) for i in (1, 2, 3)],
        ("Train", JOB), ("Collect", JOB), ("Release", JOB),
    ]  # fmt: skip


def test_only_the_server_and_the_training_get_tokens(platform: Platform) -> None:
    platform.run()
    assert [name for name, payload in platform.calls if "token" in payload] == ["StartServer", "Train"]


@pytest.mark.parametrize("name", ["Prepare", "StartServer", "StartWorker", "Train", "Collect"])
def test_an_error_anywhere_is_recorded_and_the_machines_are_released(name: str, platform: Platform) -> None:
    platform.errors[name] = [JobCannotGoOn("was cancelled")]
    ended = platform.run()
    assert [state for state in ended.states if state in ("Fail", "Release", "Finished", "Failed")] == WAY_OUT
    assert platform.called("Fail") == [
        {**JOB, "error": "JobCannotGoOn", "cause": '{"errorMessage":"was cancelled","errorType":"JobCannotGoOn"}'}
    ]
    assert (ended.status, ended.error) == ("FAILED", "JobCannotGoOn")


def test_a_silent_server_is_a_failure_after_its_heartbeat_period(platform: Platform) -> None:
    platform.silent = {"Train"}
    ended = platform.run()
    assert (ended.error, ended.states[-4:]) == ("States.HeartbeatTimeout", ["Fail", "Release", "Outcome", "Failed"])
    assert ended.seconds == pytest.approx(661)


def test_a_server_that_never_comes_up_is_a_failure_after_the_start_time(platform: Platform) -> None:
    platform.silent = {"StartServer"}
    ended = platform.run()
    assert (ended.error, len(platform.called("StartWorker"))) == ("States.Timeout", 0)
    assert ended.seconds == pytest.approx(1000)


def test_a_cause_for_a_time_out_reaches_fail_as_text(platform: Platform) -> None:
    platform.silent = {"Train"}
    platform.run()
    assert platform.called("Fail") == [{**JOB, "error": "States.HeartbeatTimeout", "cause": ""}]


def test_a_release_is_asked_every_second_while_workers_are_stopping(platform: Platform) -> None:
    platform.errors["Release"] = [StillStopping("2 are left") for _ in range(25)]
    ended = platform.run()
    assert (ended.status, len(platform.called("Release"))) == ("SUCCEEDED", 26)
    assert ended.seconds == pytest.approx(2 + 25)


def test_a_release_that_never_gets_there_ends_as_failed_and_says_so(platform: Platform) -> None:
    platform.errors["Release"] = [StillStopping("1 is left") for _ in range(99)]
    ended = platform.run()
    assert (ended.status, ended.error, len(platform.called("Release"))) == ("FAILED", "StillStopping", 61)


@pytest.mark.parametrize("error", [ValueError("a mistake"), StoreUnavailable("away")])
def test_a_fail_that_fails_does_not_keep_the_machines(error: Exception, platform: Platform) -> None:
    platform.errors = {"Collect": [JobCannotGoOn("no model")], "Fail": [error] * 20}
    ended = platform.run()
    assert ended.states[-4:] == ["Fail", "Release", "Outcome", "Failed"]
    assert ended.error == "JobCannotGoOn"


@pytest.mark.parametrize("error", [Busy("now"), StaleWrite("now"), StoreUnavailable("now")])
@pytest.mark.parametrize("name", ["Prepare", "StartServer", "StartWorker", "Train", "Collect", "Release"])
def test_an_error_that_passes_is_tried_again(name: str, error: Exception, platform: Platform) -> None:
    platform.errors[name] = [error, error]
    assert platform.run().status == "SUCCEEDED"


class ServiceException(Exception):
    """What AWS calls Lambda.ServiceException; its class cannot have the dot."""


ServiceException.__name__ = "Lambda.ServiceException"


def test_a_server_is_not_started_again_when_its_first_start_may_still_run(platform: Platform) -> None:
    platform.errors["StartServer"] = [ServiceException("500")]
    assert (platform.run().status, len(platform.called("StartServer"))) == ("FAILED", 1)


def test_a_worker_that_cannot_be_started_stops_the_starting_of_the_others(platform: Platform) -> None:
    platform.sites, platform.errors["StartWorker"] = 200, [JobCannotGoOn("cancelled")]
    platform.run()
    assert len(platform.called("StartWorker")) <= 40


def test_a_thousand_workers_are_started_once_each_and_in_order_within_the_limits(platform: Platform) -> None:
    platform.sites = 1000
    ended = platform.run()
    assert [payload["site"] for payload in platform.called("StartWorker")] == [f"site-{i + 1}" for i in range(1000)]
    assert (ended.status, len(ended.events) < 10_000) == ("SUCCEEDED", True)


def test_the_committed_definition_has_no_finding() -> None:
    assert findings(ASL.read_text()) == []


def test_the_committed_definition_retries_the_same_passing_errors_everywhere() -> None:
    # Step Functions compares names, not classes: a subclass of Busy that is not named is not retried.
    states: Json = json.loads(ASL.read_text())["States"]
    texts = [json.dumps(state) for state in states.values() if isinstance(state, dict) and "Retry" in json.dumps(state)]
    names = {Busy.__name__, *(kind.__name__ for kind in Busy.__subclasses__())}
    assert [name for text in texts for name in names if f'"{name}"' not in text] == []

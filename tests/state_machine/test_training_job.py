"""The committed definition of a training job, along every way through it."""

import json
import time
from collections.abc import Iterator

import pytest
from pydantic import JsonValue

from chalicelib.domain.errors import Busy, JobCannotGoOn, StaleWrite, StillStopping, StoreUnavailable
from local_stack.state_machine.lint import findings
from tests.state_machine.builders import ASL, Json, Outcome, Simulation, project_definition
from tests.state_machine.functions import JobFunctions

JOB: Json = {"job_id": "job-01"}
WAY_OUT = ["Fail", "Release", "Failed"]


class Platform(JobFunctions):
    """The functions of a job in a simulation."""

    on: Simulation

    def run(self) -> Outcome:
        """The job from its start to its end."""
        self.on.functions |= self.by_name
        return self.on.run(project_definition(), JOB)


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
    assert (ended.status, ended.why) == ("FAILED", "JobCannotGoOn")


def test_a_silent_server_is_a_failure_after_its_heartbeat_period(platform: Platform) -> None:
    platform.silent = {"Train"}
    ended = platform.run()
    assert (ended.why, ended.states[-4:]) == ("States.HeartbeatTimeout", ["Fail", "Release", "Outcome", "Failed"])
    assert ended.seconds == pytest.approx(661)


def test_a_server_that_never_comes_up_is_a_failure_after_the_start_time(platform: Platform) -> None:
    platform.silent = {"StartServer"}
    ended = platform.run()
    assert (ended.why, len(platform.called("StartWorker"))) == ("States.Timeout", 0)
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
    assert (ended.status, ended.why, len(platform.called("Release"))) == ("FAILED", "StillStopping", 61)


@pytest.mark.parametrize("error", [ValueError("a mistake"), StoreUnavailable("away")])
def test_a_fail_that_fails_does_not_keep_the_machines(error: Exception, platform: Platform) -> None:
    platform.errors = {"Collect": [JobCannotGoOn("no model")], "Fail": [error] * 20}
    ended = platform.run()
    assert ended.states[-4:] == ["Fail", "Release", "Outcome", "Failed"]
    assert ended.why == "JobCannotGoOn"


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


ANSWER: JsonValue = {"envelope": "x" * 830}
"""With what the interpreter puts around it, as large as an answer of Lambda."""


@pytest.fixture(scope="module")
def thousand() -> Iterator[tuple[Platform, Outcome]]:
    simulation = Simulation()
    platform = Platform(simulation, sites=1000, answer=ANSWER)
    yield platform, platform.run()
    simulation.close()


def test_a_thousand_workers_are_started_once_each_and_in_order(thousand: tuple[Platform, Outcome]) -> None:
    assert [payload["site"] for payload in thousand[0].called("StartWorker")] == [f"site-{i + 1}" for i in range(1000)]
    assert thousand[1].status == "SUCCEEDED"


def test_a_thousand_workers_fit_into_payload_and_history(thousand: tuple[Platform, Outcome]) -> None:
    assert (thousand[1].largest < 256 * 1024, len(thousand[1].events) < 25_000) == (True, True)


def test_a_map_that_kept_the_answers_of_so_many_workers_would_not_fit() -> None:
    # Why every result is dropped: the same job with the envelopes kept is too large at a third of them.
    simulation = Simulation()
    platform = Platform(simulation, sites=330, answer=ANSWER)
    simulation.functions |= platform.by_name
    kept = json.loads(project_definition())
    del kept["States"]["StartWorkers"]["ItemProcessor"]["States"]["StartWorker"]["ResultPath"]
    del kept["States"]["StartWorkers"]["Catch"]
    assert simulation.run(kept, JOB).error == "States.DataLimitExceeded"
    simulation.close()


def _seconds_for(sites: int) -> float:
    simulation = Simulation()
    begun = time.process_time()
    Platform(simulation, sites=sites, answer=ANSWER).run()
    simulation.close()
    return time.process_time() - begun


@pytest.mark.slow
@pytest.mark.timed
def test_a_worker_costs_the_same_among_a_thousand_as_among_a_few() -> None:
    few, many = min(_seconds_for(250) for _ in range(2)), min(_seconds_for(1000) for _ in range(2))
    assert many / 1000 < 2 * few / 250


def test_the_committed_definition_has_no_finding() -> None:
    assert findings(ASL.read_text()) == []


def test_the_committed_definition_retries_the_same_passing_errors_everywhere() -> None:
    # Step Functions compares names, not classes: a subclass of Busy that is not named is not retried.
    states: Json = json.loads(ASL.read_text())["States"]
    texts = [json.dumps(state) for state in states.values() if isinstance(state, dict) and "Retry" in json.dumps(state)]
    names = {Busy.__name__, *(kind.__name__ for kind in Busy.__subclasses__())}
    assert [name for text in texts for name in names if f'"{name}"' not in text] == []

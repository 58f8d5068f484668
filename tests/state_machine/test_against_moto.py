"""The interpreter beside moto: the same machines and functions come to the same end, but for the differences that are listed."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest
from pydantic import JsonValue

from chalicelib.domain.errors import Busy, JobCannotGoOn
from tests.state_machine.builders import Function, Json, Outcome, Simulation, project_definition
from tests.state_machine.cases import CASES
from tests.state_machine.functions import Functions, JobFunctions, World
from tests.state_machine.moto_differences import BY_CHANCE, DIFFERENCES, JOB_DIFFERENCES
from tests.state_machine.moto_service import Moto, RealWorld, moto_served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

AT_ONCE = 10
JOB: Json = {"job_id": "job-01"}


@dataclass(frozen=True)
class Way:
    """A way through a training job: which functions fail with what, and which never answer their token."""

    errors: Mapping[str, Sequence[Exception]] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()

    def functions(self, world: World) -> Mapping[str, Function]:
        """The functions of the job on this way."""
        errors = {name: list(found) for name, found in self.errors.items()}
        patience = 3 if self.silent else 60
        plan = {"heartbeat_s": patience, "start_s": patience}
        return JobFunctions(world, errors=errors, silent=set(self.silent), plan=plan).by_name


ENDS = [JobCannotGoOn("was cancelled")]
WAYS = {
    "all_is_well": Way(),
    "prepare_fails": Way({"Prepare": ENDS}),
    "the_server_cannot_be_started": Way({"StartServer": ENDS}),
    "the_server_never_comes_up": Way(silent=frozenset({"StartServer"})),
    "a_worker_cannot_be_started": Way({"StartWorker": ENDS}),
    "a_worker_is_started_at_the_third_try": Way({"StartWorker": [Busy("now"), Busy("now")]}),
    "the_training_fails": Way({"Train": ENDS}),
    "the_server_falls_silent": Way(silent=frozenset({"Train"})),
    "the_model_is_missing": Way({"Collect": ENDS}),
    "release_fails_for_good": Way({"Release": [ValueError("a mistake")] * 9}),
    "fail_fails_too": Way({"Collect": ENDS, "Fail": [ValueError("a mistake")] * 9}),
}


@dataclass(frozen=True)
class Trial:
    """A machine to run in both places."""

    definition: Json
    given: JsonValue
    functions: Callable[[World], Mapping[str, Function]]
    inside: bool = True


TRIALS = {
    **{name: Trial(case.definition, case.given, lambda world: Functions(world).by_name, case.inside)
       for name, case in CASES.items() if name not in BY_CHANCE},
    **{name: Trial(json.loads(project_definition()), JOB, way.functions, inside=False) for name, way in WAYS.items()},
}  # fmt: skip
ALL_DIFFERENCES = {**DIFFERENCES, **JOB_DIFFERENCES}


@dataclass(frozen=True)
class End:
    """What is compared. Branches and items run side by side, so the states inside them are counted and not put in order."""

    status: str
    output: JsonValue
    error: str | None
    cause: str | None
    states: Sequence[str]
    inside: Counter[str]


def _end(trial: Trial, outcome: Outcome) -> End:
    top = cast(Json, trial.definition["States"])
    # The words of an error that the service itself makes are its own; those of functions and Fail states are not.
    cause = None if outcome.error is None or outcome.error.startswith("States.") else outcome.cause
    inside = Counter(name for name in outcome.states if name not in top) if trial.inside else Counter[str]()
    states = [name for name in outcome.states if name in top]
    return End(outcome.status, outcome.output, outcome.error, cause, states, inside)


@pytest.fixture(scope="module")
def opinions() -> Mapping[str, Outcome]:
    """moto's ends of all trials, a few of them at a time."""
    found: dict[str, Outcome] = {}
    with moto_served() as moto:
        names = sorted(TRIALS, key=lambda name: (_takes_time(TRIALS[name]), name))
        for first in range(0, len(names), AT_ONCE):
            found |= _run(moto, names[first : first + AT_ONCE])
    return found


def _takes_time(trial: Trial) -> bool:
    text = json.dumps(trial.definition)
    return any(word in text for word in ('"Wait"', '"Retry"', "sleeper", "launcher", "Token"))


def _run(moto: Moto, names: Sequence[str]) -> dict[str, Outcome]:
    world = RealWorld(moto.client)
    arns = {name: moto.start(TRIALS[name].definition, TRIALS[name].given, TRIALS[name].functions(world)) for name in names}
    return {name: moto.outcome(arn) for name, arn in arns.items()}


def _ours(trial: Trial) -> Outcome:
    simulation = Simulation()
    simulation.functions |= trial.functions(simulation)
    try:
        return simulation.run(trial.definition, trial.given)
    finally:
        simulation.close()


@pytest.mark.parametrize("name", [name for name in TRIALS if name not in ALL_DIFFERENCES])
def test_both_come_to_the_same_end(name: str, opinions: Mapping[str, Outcome]) -> None:
    assert _end(TRIALS[name], _ours(TRIALS[name])) == _end(TRIALS[name], opinions[name])


@pytest.mark.parametrize("name", ALL_DIFFERENCES)
def test_a_listed_difference_still_exists(name: str, opinions: Mapping[str, Outcome]) -> None:
    assert _end(TRIALS[name], _ours(TRIALS[name])) != _end(TRIALS[name], opinions[name]), "take it off the list"

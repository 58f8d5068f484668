"""The states of a machine as typed values. Whatever this interpreter could not follow is refused here, never guessed."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator, model_validator
from pydantic.alias_generators import to_pascal

from local_stack.state_machine import choices
from local_stack.state_machine.fields import (
    MOST_SECONDS,
    Expression,
    Moment,
    OptionalPath,
    PathText,
    ResultPath,
    Seconds,
    Template,
)

LAMBDA = "arn:aws:states:::lambda:invoke"
LAMBDA_WITH_TOKEN = "arn:aws:states:::lambda:invoke.waitForTaskToken"  # noqa: S105  (the name of a pattern)


class InvalidDefinition(Exception):
    """A definition that AWS or this interpreter would not run; one line per fault."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_pascal)

    def has(self, field: str) -> bool:
        """Whether the definition names this field (null counts)."""
        return field in self.model_fields_set


class Retrier(_Part):
    """One way to try again."""

    error_equals: tuple[str, ...] = Field(min_length=1)
    interval_seconds: int = Field(1, ge=1, le=MOST_SECONDS)
    max_attempts: int = Field(3, ge=0, le=MOST_SECONDS)
    backoff_rate: float = Field(2.0, ge=1)
    max_delay_seconds: int | None = Field(None, ge=1, lt=31_622_400)
    jitter_strategy: Literal["FULL", "NONE"] = "NONE"
    comment: str = ""


class Catcher(_Part):
    """One way on after an error."""

    error_equals: tuple[str, ...] = Field(min_length=1)
    next: str
    result_path: ResultPath = "$"
    comment: str = ""


class _State(_Part):
    comment: str = ""

    @property
    def followers(self) -> tuple[str, ...]:
        """Every state that may come next."""
        return ()


class _Filtering(_State):
    input_path: OptionalPath = "$"
    output_path: OptionalPath = "$"


class _Going(_Filtering):
    next: str | None = None
    end: bool = False

    @model_validator(mode="after")
    def _goes_on_or_ends(self) -> "_Going":
        if (self.next is None) == (not self.end):
            raise ValueError("a state needs either Next or End")
        return self

    @property
    def followers(self) -> tuple[str, ...]:
        return (self.next,) if self.next else ()


class _Working(_Going):
    parameters: Template = None
    result_selector: Template = None
    result_path: ResultPath = "$"
    retry: tuple[Retrier, ...] = ()
    catch: tuple[Catcher, ...] = ()

    @property
    def followers(self) -> tuple[str, ...]:
        return (*super().followers, *(catcher.next for catcher in self.catch))

    @model_validator(mode="after")
    def _all_comes_last_and_alone(self) -> "_Working":
        for clauses in ([r.error_equals for r in self.retry], [c.error_equals for c in self.catch]):
            for i, names in enumerate(clauses):
                if "States.ALL" in names and (len(names) > 1 or i + 1 < len(clauses)):
                    raise ValueError("States.ALL has to stand alone and in the last Retry or Catch")
        return self


class PassState(_Going):
    type: Literal["Pass"]
    parameters: Template = None
    result: JsonValue = None
    result_path: ResultPath = "$"


class TaskState(_Working):
    type: Literal["Task"]
    resource: Literal["arn:aws:states:::lambda:invoke", "arn:aws:states:::lambda:invoke.waitForTaskToken"]
    timeout_seconds: int | None = Field(None, ge=1, le=MOST_SECONDS)
    timeout_seconds_path: OptionalPath = None
    heartbeat_seconds: int | None = Field(None, ge=1, le=MOST_SECONDS)
    heartbeat_seconds_path: OptionalPath = None

    @property
    def awaited(self) -> bool:
        """Whether the task ends by its token and not by the answer of its function."""
        return self.resource == LAMBDA_WITH_TOKEN

    @field_validator("parameters")
    @classmethod
    def _names_its_function(cls, parameters: JsonValue) -> JsonValue:
        if not isinstance(parameters, dict) or not {"FunctionName", "FunctionName.$"} & set(parameters):
            raise ValueError("Parameters needs a FunctionName")
        return parameters

    @model_validator(mode="after")
    def _has_parameters_and_sane_limits(self) -> "TaskState":
        if not self.has("parameters"):
            raise ValueError("a Task needs Parameters with the FunctionName")
        if self.heartbeat_seconds and self.timeout_seconds and self.heartbeat_seconds >= self.timeout_seconds:
            raise ValueError("HeartbeatSeconds has to be below TimeoutSeconds")
        return self


class ChoiceState(_Filtering):
    type: Literal["Choice"]
    choices: tuple[dict[str, JsonValue], ...] = Field(min_length=1)
    default: str | None = None

    @field_validator("choices")
    @classmethod
    def _can_be_followed(cls, rules: tuple[dict[str, JsonValue], ...]) -> tuple[dict[str, JsonValue], ...]:
        for rule in rules:
            choices.check(rule)
        return rules

    @property
    def followers(self) -> tuple[str, ...]:
        return (*(str(rule["Next"]) for rule in self.choices), *((self.default,) if self.default else ()))


class WaitState(_Going):
    type: Literal["Wait"]
    seconds: Seconds | None = None
    seconds_path: OptionalPath = None
    timestamp: Moment | None = None
    timestamp_path: OptionalPath = None

    @model_validator(mode="after")
    def _has_one_end(self) -> "WaitState":
        if sum(self.has(field) for field in ("seconds", "seconds_path", "timestamp", "timestamp_path")) != 1:
            raise ValueError("a Wait needs exactly one of Seconds, SecondsPath, Timestamp, TimestampPath")
        return self


class SucceedState(_Filtering):
    type: Literal["Succeed"]


class FailState(_State):
    type: Literal["Fail"]
    error: str = ""
    cause: str = ""
    error_path: Expression | None = None
    cause_path: Expression | None = None


class ParallelState(_Working):
    type: Literal["Parallel"]
    branches: tuple["Branch", ...] = Field(min_length=1)


class ProcessorConfig(_Part):
    """How the items run; only the inline way is known."""

    mode: Literal["INLINE"] = "INLINE"


class MapState(_Working):
    type: Literal["Map"]
    items_path: PathText = "$"
    item_selector: Template = None
    max_concurrency: int = Field(0, ge=0)
    max_concurrency_path: OptionalPath = None
    item_processor: "Branch"

    @field_validator("parameters")
    @classmethod
    def _says_it_the_new_way(cls, _: JsonValue) -> JsonValue:
        raise ValueError("Parameters is the old name of ItemSelector; write ItemSelector")


State = Annotated[
    PassState | TaskState | ChoiceState | WaitState | SucceedState | FailState | ParallelState | MapState,
    Field(discriminator="type"),
]


class Branch(_Part):
    """States of their own with a first one: a branch of Parallel or the iteration of a Map."""

    start_at: str
    states: Mapping[Annotated[str, Field(max_length=80)], State] = Field(min_length=1)
    processor_config: ProcessorConfig = ProcessorConfig()
    comment: str = ""

    @model_validator(mode="after")
    def _every_way_leads_somewhere(self) -> "Branch":
        targets = {self.start_at, *(name for state in self.states.values() for name in state.followers)}
        if missing := sorted(targets - set(self.states)):
            raise ValueError(f"there is no state named {', '.join(missing)}")
        return self


class Machine(Branch):
    """A whole state machine."""

    version: Literal["1.0"] = "1.0"
    query_language: Literal["JSONPath"] = "JSONPath"
    timeout_seconds: int | None = Field(None, ge=1, le=MOST_SECONDS)

    @model_validator(mode="after")
    def _every_name_is_its_own(self) -> "Machine":
        counts = Counter(name for name, _ in all_states(self))
        if twice := sorted(name for name, count in counts.items() if count > 1):
            raise ValueError(f"the name of a state is unique in the whole machine; {', '.join(twice)} is there twice")
        return self


ParallelState.model_rebuild()
MapState.model_rebuild()

Scope = tuple[tuple[str, int], ...]
"""Where a state stands: the Map or Parallel states around it, outermost first, each with the number of the branch."""


def parse(text: str) -> Machine:
    """The machine. A fault of any kind: InvalidDefinition, which names the place of each."""
    try:
        return Machine.model_validate(json.loads(text))
    except ValidationError as error:
        raise InvalidDefinition("\n".join(_line(item["loc"], item["msg"]) for item in error.errors())) from error
    except ValueError as error:
        raise InvalidDefinition(f"The definition is not JSON: {error}") from error


def _line(place: tuple[int | str, ...], message: str) -> str:
    return f"/{'/'.join(str(part) for part in place)}: {message.removeprefix('Value error, ')}"


def branch(machine: Machine, scope: Scope) -> Branch:
    """The states around a state of this scope."""
    found: Branch = machine
    for name, number in scope:
        state = found.states[name]
        if isinstance(state, MapState):
            found = state.item_processor
        elif isinstance(state, ParallelState):
            found = state.branches[number]
    return found


def all_states(top: Branch) -> Iterator[tuple[str, State]]:
    """Every state with its name, those of branches and iterations too."""
    for name, state in top.states.items():
        yield name, state
        inner = state.branches if isinstance(state, ParallelState) else ()
        for below in (state.item_processor,) if isinstance(state, MapState) else inner:
            yield from all_states(below)


def substituted(text: str, names: Mapping[str, str]) -> str:
    """The definition with each ``${Name}`` replaced, as CloudFormation does it. A name without a value: InvalidDefinition."""
    if missing := sorted(set(re.findall(r"\$\{(\w+)\}", text)) - set(names)):
        raise InvalidDefinition(f"There is no value for {', '.join(missing)}")
    return re.sub(r"\$\{(\w+)\}", lambda found: names[found[1]], text)

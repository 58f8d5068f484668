"""The wizard's form, one model per step: the one source of its titles, helps, bounds and defaults."""

from math import isfinite
from typing import Annotated, Self

from pydantic import ConfigDict, Field, JsonValue, StringConstraints, field_validator, model_validator

from chalicelib.contracts.base import Strict

DOTTED = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$"
CLASS_PATH = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+$"
IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_]*$"

ParameterName = Annotated[str, StringConstraints(min_length=1, max_length=128)]


def _is_finite(value: JsonValue) -> bool:
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, list):
        return all(_is_finite(item) for item in value)
    return not isinstance(value, dict) or all(_is_finite(item) for item in value.values())


class Parameter(Strict):
    """One name and its value, either as typed into a field (``typed``) or as JSON (``value``); exactly one of the two."""

    model_config = ConfigDict(title="Parameter")

    name: ParameterName = Field(title="Name", description="A Python identifier; your training function reads it by it.")
    typed: str | None = Field(
        default=None,
        max_length=100_000,
        title="Value",
        description="Numbers stay numbers, true and false are booleans, [ and { start JSON, anything else is text.",
    )
    value: JsonValue = Field(default=None, title="Value as JSON", description="Taken exactly as it is.")

    @field_validator("value")
    @classmethod
    def _value_is_finite(cls, value: JsonValue) -> JsonValue:
        if not _is_finite(value):
            raise ValueError("NaN and Infinity are not JSON")
        return value

    @model_validator(mode="after")
    def _has_one_value(self) -> Self:
        if self.typed is not None and self.value is not None:
            raise ValueError("give 'typed' or 'value', not both")
        if self.typed is None and "value" not in self.model_fields_set:
            raise ValueError("give 'typed' or 'value'")
        return self


def _default_parameters() -> tuple[Parameter, ...]:
    return (
        Parameter(name="local_epochs", value=2),
        Parameter(name="batch_size", value=32),
        Parameter(name="learning_rate", value=0.001),
    )


class NameStep(Strict):
    """Name the job; the name becomes its folder."""

    model_config = ConfigDict(title="Name your training run")

    name: str = Field(
        min_length=1,
        max_length=1000,
        title="Name",
        description="Becomes the folder jobs/<name>/: lower case, white space as dashes, only letters, digits, - and _; "
        "at least one letter or digit.",
    )


class TrainingStep(Strict):
    """Set the values every worker receives."""

    model_config = ConfigDict(title="Hyperparameters")

    parameters: tuple[Parameter, ...] = Field(
        default_factory=_default_parameters,
        max_length=500,
        title="Hyperparameters",
        description="Sent to every worker each round, in this order; your training function reads them from payload['env'].",
    )


class FederationStep(Strict):
    """Rounds and timeouts."""

    model_config = ConfigDict(title="Federation")

    rounds: int = Field(
        default=5,
        ge=1,
        le=100_000,
        strict=True,
        title="Rounds",
        description="How many times the server sends out the model, collects the updates and averages them.",
    )
    minimum_workers: int = Field(
        default=1,
        ge=1,
        le=10_000,
        strict=True,
        title="Minimum workers per round",
        description="Set for you at launch: every worker for one or two, two thirds rounded up above that. This value "
        "matters only if you run the generated config yourself.",
    )
    wait_for_stragglers_s: int = Field(
        default=10,
        ge=0,
        le=604_800,
        strict=True,
        title="Wait for stragglers",
        description="Seconds the server keeps waiting for the other workers once the minimum has reported.",
    )
    heartbeat_timeout_s: int = Field(
        default=600,
        ge=10,
        le=604_800,
        strict=True,
        title="Heartbeat timeout",
        description="Seconds a worker may stay silent before the server treats it as lost.",
    )
    training_timeout_s: int = Field(
        default=0,
        ge=0,
        le=2_592_000,
        strict=True,
        title="Training timeout",
        description="Seconds a worker may train in one round. 0 means no limit.",
    )


class ModelStep(Strict):
    """Where the model class and the training function live."""

    model_config = ConfigDict(title="Your model")

    model_class: str = Field(
        default="model_def.FLModelWrapper",
        max_length=256,
        pattern=CLASS_PATH,
        title="Model class",
        description="Import path of your model class, as module.ClassName.",
    )
    adapter_module: str = Field(
        default="model_def",
        max_length=128,
        pattern=DOTTED,
        title="Adapter module",
        description="The file in scripts/ that holds the class and the training function, without .py.",
    )
    train_fn: str = Field(
        default="fl_train_model",
        max_length=128,
        pattern=IDENTIFIER,
        title="Training function",
        description="The function in that file each worker calls every round.",
    )
    arguments: tuple[Parameter, ...] = Field(
        default=(),
        max_length=200,
        title="Model arguments",
        description="What the server passes to your model class when it builds the first global model.",
    )


class WizardForm(Strict):
    """Everything steps 1 to 4 ask for; only the name has no default."""

    model_config = ConfigDict(title="Training job")

    name: NameStep = Field(title="1 · Name")
    training: TrainingStep = Field(default_factory=TrainingStep, title="2 · Training")
    federation: FederationStep = Field(default_factory=FederationStep, title="3 · Federation")
    model: ModelStep = Field(default_factory=ModelStep, title="4 · Model")

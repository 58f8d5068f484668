"""The wizard's form: its defaults, its bounds, its schema."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from chalicelib.contracts.schema import wizard_schema
from chalicelib.contracts.wizard import FederationStep, ModelStep, Parameter, TrainingStep, WizardForm


def test_the_federation_step_starts_with_the_specifications_values() -> None:
    assert FederationStep().model_dump() == {
        "rounds": 5,
        "minimum_workers": 1,
        "wait_for_stragglers_s": 10,
        "heartbeat_timeout_s": 600,
        "training_timeout_s": 0,
    }


def test_the_training_step_starts_with_the_specifications_values() -> None:
    assert [(p.name, p.value) for p in TrainingStep().parameters] == [
        ("local_epochs", 2),
        ("batch_size", 32),
        ("learning_rate", 0.001),
    ]


def test_the_model_step_starts_with_the_specifications_values() -> None:
    step = ModelStep()
    assert (step.model_class, step.adapter_module, step.train_fn, step.arguments) == (
        "model_def.FLModelWrapper",
        "model_def",
        "fl_train_model",
        (),
    )


def test_only_the_name_must_be_given() -> None:
    assert WizardForm.model_validate({"name": {"name": "x"}}).federation == FederationStep()


BAD: list[dict[str, Any]] = [
    {"federation": {"rounds": 0}},
    {"federation": {"rounds": True}},
    {"federation": {"rounds": "5"}},
    {"federation": {"unknown": 1}},
    {"model": {"model_class": "FLModelWrapper"}},
    {"model": {"adapter_module": "model_def.py/"}},
    {"model": {"train_fn": "a.b"}},
    {"training": {"parameters": [{"name": "a"}]}},
    {"training": {"parameters": [{"name": "a", "typed": "1", "value": 1}]}},
    {"training": {"parameters": [{"name": "a", "value": [float("nan")]}]}},
]


@pytest.mark.parametrize("change", BAD, ids=json.dumps)
def test_what_breaks_a_bound_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        WizardForm.model_validate({"name": {"name": "x"}, **change})


def test_numbers_keep_size_and_type_through_json() -> None:
    text = '{"name": {"name": "x"}, "training": {"parameters": [{"name": "a", "value": 3.0}, {"name": "b", "value": %d}]}}'
    form = WizardForm.model_validate_json(text % 10**40)
    again = WizardForm.model_validate_json(form.model_dump_json())
    assert repr([p.value for p in again.training.parameters]) == repr([3.0, 10**40])


def test_a_parameter_survives_its_own_json() -> None:
    typed = Parameter(name="a", typed="[1]")
    assert Parameter.model_validate_json(typed.model_dump_json()) == typed


def test_every_field_of_the_schema_has_a_title_and_a_description() -> None:
    schema = wizard_schema()
    steps = ("NameStep", "TrainingStep", "FederationStep", "ModelStep", "Parameter")
    fields = {f"{step}.{name}": each for step in steps for name, each in schema["$defs"][step]["properties"].items()}
    assert [name for name, each in fields.items() if not (each.get("title") and each.get("description"))] == []


def test_the_schema_carries_the_defaults_of_every_step() -> None:
    steps = wizard_schema()["properties"]
    assert steps["federation"]["default"] == FederationStep().model_dump()
    assert steps["training"]["default"]["parameters"][2] == {"name": "learning_rate", "value": 0.001}


def test_the_schema_is_plain_json() -> None:
    assert json.loads(json.dumps(wizard_schema(), allow_nan=False)) == wizard_schema()

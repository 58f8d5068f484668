"""The wizard's form as JSON Schema, for every page and client that draws it."""

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from chalicelib.contracts.wizard import FederationStep, ModelStep, TrainingStep, WizardForm


def wizard_schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of WizardForm in which every step carries the values it starts with as its ``default``."""
    schema = WizardForm.model_json_schema(mode="validation")
    steps = schema["properties"]
    for name, step in (("training", TrainingStep()), ("federation", FederationStep()), ("model", ModelStep())):
        steps[name]["default"] = step.model_dump(mode="json", exclude_none=True)
    return {"$schema": GenerateJsonSchema.schema_dialect, **schema}

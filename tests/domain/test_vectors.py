"""The examples that are the rule."""

import json
from pathlib import Path
from typing import Any

import pytest

from chalicelib.domain.errors import BadValue
from chalicelib.domain.naming import clean_name
from chalicelib.domain.typing_rules import argument_problem, parameter_problem, parse_value, write_json
from chalicelib.domain.workspaces import minimum_workers

VECTORS = Path(__file__).parents[1] / "vectors"
KINDS = {str: "text", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


def vectors(name: str) -> list[Any]:
    found: list[Any] = json.loads((VECTORS / f"{name}.json").read_text("utf-8"))["vectors"]
    return found


@pytest.mark.parametrize("vector", vectors("names"), ids=lambda v: ascii(v["typed"])[:30])
def test_a_typed_name_becomes_the_folder_the_rule_says(vector: dict[str, Any]) -> None:
    assert clean_name(vector["typed"]) == vector["name"]


@pytest.mark.parametrize("vector", vectors("values"), ids=lambda v: ascii(v["typed"])[:30])
def test_a_typed_value_has_the_type_and_spelling_the_rule_says(vector: dict[str, Any]) -> None:
    if vector["type"] == "error":
        with pytest.raises(BadValue):
            parse_value(vector["typed"])
        return
    value = parse_value(vector["typed"])
    assert (KINDS[type(value)], write_json(value)) == (vector["type"], vector["json"])


@pytest.mark.parametrize("vector", vectors("minimum_workers"), ids=lambda v: str(v["workers"]))
def test_the_minimum_of_workers_follows_from_their_number(vector: dict[str, int]) -> None:
    assert minimum_workers(vector["workers"]) == vector["minimum"]


@pytest.mark.parametrize("vector", vectors("parameter_names"), ids=lambda v: f"{v['name']!a}-{v['training']}")
def test_a_parameter_may_have_the_names_the_rule_says(vector: dict[str, Any]) -> None:
    problem = parameter_problem if vector["training"] else argument_problem
    assert (problem(vector["name"]) is None) == vector["ok"]

"""The committed OpenAPI document is the doors' own, and complete."""

from pathlib import Path
from typing import Any

import pytest

from app import app
from chalicelib.entrypoints.openapi import OPEN, document
from tests.contracts.write_schemas import documents

OPERATIONS = [
    (path, method, operation) for path, methods in document(app)["paths"].items() for method, operation in methods.items()
]


@pytest.mark.parametrize("path", list(documents()), ids=lambda path: path.name)
def test_the_committed_document_is_current(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == documents()[path], "run 'make schema'"


def test_every_route_is_documented() -> None:
    routes = {(path, method.lower()) for path, methods in app.routes.items() for method in methods}
    assert routes == {(path, method) for path, method, _ in OPERATIONS}


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS, ids=lambda value: value if isinstance(value, str) else "")
def test_every_operation_says_what_it_does(path: str, method: str, operation: dict[str, Any]) -> None:
    assert operation["summary"].endswith((".", ";"))


def test_operation_ids_are_unique() -> None:
    ids = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(ids) == len(set(ids))


def test_every_other_route_asks_for_a_token() -> None:
    open_ones = {path for path, _, operation in OPERATIONS if "security" not in operation}
    assert open_ones == set(OPEN)


def test_every_route_that_asks_for_a_token_has_an_authorizer() -> None:
    without = {path for path, methods in app.routes.items() for entry in methods.values() if entry.authorizer is None}
    assert without == set(OPEN)

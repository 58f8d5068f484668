"""The OpenAPI document of every route, made from the doors themselves."""

import inspect
import typing
from typing import Any

from chalice.app import Chalice
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from chalicelib.contracts.api import ErrorAnswer
from chalicelib.entrypoints.http import Door
from chalicelib.version import VERSION

REF = "#/components/schemas/{model}"
OPEN = ("/health", "/sign-in", "/schema/wizard.json", "/worker/token")
"""Routes that need no token."""


def document(app: Chalice) -> dict[str, Any]:
    """OpenAPI 3.1 of all routes; the same document for the same doors."""
    doors = {
        (path, method.lower()): entry.view_function.__dict__["door"]
        for path, methods in app.routes.items()
        for method, entry in methods.items()
    }
    refs, components = _schemas(list(doors.values()))
    paths: dict[str, Any] = {}
    for (path, method), door in sorted(doors.items(), key=lambda item: item[0]):
        paths.setdefault(path, {})[method] = _operation(path, method, door, refs)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tutti", "version": VERSION, "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "servers": [{"url": "/api"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


Refs = dict[tuple[type[BaseModel], str], dict[str, Any]]


def _schemas(doors: list[Door]) -> tuple[Refs, dict[str, Any]]:
    inputs = sorted({door.takes for door in doors if door.takes}, key=lambda model: model.__name__)
    outputs = sorted({model for door in doors if (model := _answer(door))} | {ErrorAnswer}, key=lambda model: model.__name__)
    wanted: list[Any] = [(model, "validation") for model in inputs]
    wanted += [(model, "serialization") for model in outputs]
    refs, definitions = models_json_schema(wanted, ref_template=REF)
    components: dict[str, Any] = definitions.get("$defs", {})
    return typing.cast("Refs", refs), dict(sorted(components.items()))


def _answer(door: Door) -> type[BaseModel] | None:
    found = typing.get_type_hints(door.view)["return"]
    return found if isinstance(found, type) and issubclass(found, BaseModel) else None


def _operation(path: str, method: str, door: Door, refs: Refs) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": f"{method}_{path.strip('/').replace('/', '_').replace('{', '').replace('}', '').replace('.', '_')}",
        "summary": (inspect.getdoc(door.view) or "").splitlines()[0],
        "tags": [path.strip("/").split("/")[0]],
        "parameters": [_parameter(part[1:-1], "path") for part in path.split("/") if part.startswith("{")]
        + [_parameter(name, "query") for name in door.query],
        "responses": _responses(door, refs),
    }
    if path not in OPEN:
        operation["security"] = [{"bearer": []}]
    if door.takes is not None:
        operation["requestBody"] = {"required": True, "content": _json(refs[door.takes, "validation"])}
    return operation


def _parameter(name: str, place: str) -> dict[str, Any]:
    return {"name": name, "in": place, "required": place == "path", "schema": {"type": "string"}}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _responses(door: Door, refs: Refs) -> dict[str, Any]:
    answer = _answer(door)
    error = {"description": "What went wrong and what to do next", "content": _json(refs[ErrorAnswer, "serialization"])}
    if answer is None:
        return {"204": {"description": "Done"}, "default": error}
    good = {"description": (inspect.getdoc(answer) or "Done").splitlines()[0], "content": _json(refs[answer, "serialization"])}
    return {str(door.status): good, "default": error}

"""Workspaces: the folders ``jobs/<name>/`` of the bucket."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from tutti_fl.shapes.workspaces import Built, FileText, Report, Workspace, Workspaces, WorkspaceSummary
from tutti_fl.transport import Transport

Value = str | int | float | bool | list[Any] | dict[str, Any] | None


class Typed(str):
    """A value as typed into a field: Tutti decides whether it is a number, true or false, JSON or text."""

    __slots__ = ()


@dataclass(frozen=True)
class Settings:
    """What the wizard asks; what is left out gets the platform's default."""

    parameters: Mapping[str, Value] = field(default_factory=dict)
    """Hyperparameters by name, on top of the platform's defaults; they reach the training function in ``payload["env"]``."""
    federation: Mapping[str, int] = field(default_factory=dict)
    """rounds, minimum_workers, wait_for_stragglers_s, heartbeat_timeout_s, training_timeout_s."""
    model: Mapping[str, str] = field(default_factory=dict)
    """model_class, adapter_module, train_fn."""
    arguments: Mapping[str, Value] = field(default_factory=dict)
    """What the model class is built with."""

    def form(self, name: str, defaults: Mapping[str, Value]) -> dict[str, Any]:
        """The wizard's form as JSON, without the steps that say nothing. ``defaults`` are the platform's hyperparameters."""
        steps: dict[str, dict[str, Any]] = {
            "training": {"parameters": _pairs({**defaults, **self.parameters})} if self.parameters else {},
            "federation": dict(self.federation),
            "model": dict(self.model) | ({"arguments": _pairs(self.arguments)} if self.arguments else {}),
        }
        return {"name": {"name": name}} | {step: content for step, content in steps.items() if content}


def _pairs(values: Mapping[str, Value]) -> list[dict[str, Any]]:
    return [{"name": name, "typed" if isinstance(value, Typed) else "value": value} for name, value in values.items()]


class WorkspacesApi:
    """Create, rebuild, look at and check workspaces."""

    def __init__(self, transport: Transport) -> None:
        self._http = transport

    def create(self, name: str, settings: Settings | None = None) -> Built:
        """Write a new workspace; TuttiError ``name_taken`` (``fields["suggestion"]`` is free) when the folder exists."""
        return self._http.post(Built, "/workspaces", self._form(name, settings or Settings()))

    def built(self, name: str) -> Built:
        """The generated files as they are now; TuttiError ``workspace_not_found`` when the wizard did not make the workspace."""
        return self._http.get(Built, _route(name, "built"))

    def rebuild(self, name: str, settings: Settings | None = None, *, etag: str, overwrite: bool = False) -> Built:
        """Write the generated files again, if their state is still the one with this etag; those edited by hand stay, unless
        ``overwrite``."""
        form = self._form(name, settings or Settings())
        query = {"overwrite": "true"} if overwrite else None
        return self._http.put(Built, _route(name), form, query=query, if_match=etag)

    def defaults(self) -> dict[str, Value]:
        """The hyperparameters a new workspace starts with."""
        schema = self._http.call("GET", "/schema/wizard.json")
        pairs = schema["properties"]["training"]["default"]["parameters"]
        return {pair["name"]: pair["value"] for pair in pairs}

    def list(self) -> Iterator[WorkspaceSummary]:
        """Every workspace, page by page."""
        cursor: str | None = None
        while True:
            page = self._http.get(Workspaces, "/workspaces", cursor=cursor)
            yield from page.workspaces
            cursor = page.cursor
            if cursor is None:
                return

    def get(self, name: str) -> Workspace:
        """The workspace with its five cards and newest report; TuttiError ``workspace_not_found``."""
        return self._http.get(Workspace, _route(name))

    def report(self, name: str) -> Report:
        """The newest stored report."""
        return self._http.get(Report, _route(name, "report"))

    def check(self, name: str) -> Report:
        """Check the workspace as it is now."""
        return self._http.post(Report, _route(name, "check"), again=True)

    def read(self, name: str, path: str) -> FileText:
        """A small text file; the path is relative to the workspace."""
        return self._http.get(FileText, _route(name, "file"), path=path)

    def write(self, name: str, path: str, text: str, *, etag: str) -> FileText:
        """Save an edited config; TuttiError ``precondition_failed`` when it is no longer what was read."""
        return self._http.put(FileText, _route(name, "file"), {"path": path, "text": text, "etag": etag})

    def _form(self, name: str, settings: Settings) -> dict[str, Any]:
        return settings.form(name, self.defaults() if settings.parameters else {})


def _route(name: str, *rest: str) -> str:
    return "/".join(("/workspaces", quote(name, safe=""), *rest))

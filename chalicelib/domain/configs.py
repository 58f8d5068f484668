"""A workspace's configs as NVFLARE means them, whichever way the user wrote them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pydantic import JsonValue

from chalicelib.domain.errors import BadConfig
from chalicelib.domain.json_text import JsonText, read_json
from chalicelib.domain.typing_rules import EXECUTOR_ARGUMENTS
from chalicelib.domain.workspaces import CLIENT_CONFIG, META, SERVER_CONFIG

Object = dict[str, Any]

PATH_KEYS = ("path", "class_path", "name")
DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class Config:
    """One config file and how to point at a place in it."""

    path: str
    json: JsonText

    @classmethod
    def read(cls, files: Mapping[str, bytes], name: str) -> Self:
        """The config of that name. Absent, or not an object: BadConfig; not JSON: BadJson."""
        path = f"configs/{name}"
        if path not in files:
            raise BadConfig("config_missing", f"{path} is missing", path=path, key="")
        json = read_json(files[path], path=path)
        if not isinstance(json.value, dict):
            raise BadConfig("config_not_object", f"{path} must be an object in {{ }}", path=path, key="", line=1)
        return cls(path, json)

    @property
    def value(self) -> Object:
        """The object; a caller must not change it."""
        assert isinstance(self.json.value, dict)  # noqa: S101 (read() has checked it)
        return self.json.value

    def wrong(self, finding: str, problem: str, *keys: str | int) -> BadConfig:
        """The error for a place in this file."""
        line, column = self.json.place(*keys)
        key = ".".join(map(str, keys))
        at = f" (line {line})" if line else ""
        return BadConfig(finding, f"{self.path}: {key or 'it'} {problem}{at}", path=self.path, key=key, line=line, column=column)

    def object_at(self, *keys: str | int) -> Object:
        """The object under these keys; an empty one when it is absent. Something else there: BadConfig."""
        found = self.at(*keys)
        if found is not None and not isinstance(found, dict):
            raise self.wrong("config_shape", "must be an object in { }", *keys)
        return found or {}

    def list_at(self, *keys: str | int) -> list[Any]:
        """The list under these keys; an empty one when it is absent. Something else there: BadConfig."""
        found = self.at(*keys)
        if found is not None and not isinstance(found, list):
            raise self.wrong("config_shape", "must be a list in [ ]", *keys)
        return found or []

    def objects_at(self, *keys: str | int) -> list[Object]:
        """The list of objects under these keys; an empty one when it is absent. Something else there: BadConfig."""
        return [self.object_at(*keys, index) for index in range(len(self.list_at(*keys)))]

    def at(self, *keys: str | int) -> Any:
        """Whatever is under these keys; None when nothing is."""
        found: Any = self.value
        for key in keys:
            inside = isinstance(found, dict) if isinstance(key, str) else isinstance(found, list) and key < len(found)
            if not inside or (isinstance(key, str) and key not in found):
                return None
            found = found[key]
        return found


@dataclass(frozen=True)
class Entry:
    """A component, workflow or executor in a config: where it is, its class path and its arguments."""

    config: Config
    keys: tuple[str | int, ...]

    @property
    def value(self) -> Object:
        """The object that NVFLARE builds it from."""
        return self.config.object_at(*self.keys)

    @property
    def class_path(self) -> str:
        """``package.module.Class``. Without one: BadConfig."""
        found = next((self.value[key] for key in PATH_KEYS if key in self.value), None)
        if not isinstance(found, str) or not DOTTED.fullmatch(found):
            raise self.config.wrong("config_path", "needs a path like module.ClassName", *self.keys, "path")
        return found

    @property
    def args(self) -> Object:
        """Its arguments. Something that is not an object: BadConfig."""
        return self.config.object_at(*self.keys, "args")


def executor_of(client: Config, task: str = "train") -> Entry:
    """The executor that gets the training task, in the full form or the guide's short one. None there: BadConfig."""
    if "executors" not in client.value:
        if "executor" not in client.value:
            raise client.wrong("executor_missing", "names no executor: 'executors' is missing")
        return Entry(client, ("executor",))
    entries = client.objects_at("executors")
    takes = [i for i in range(len(entries)) if {task, "*"} & set(tasks_of(client, i))]
    if not takes:
        raise client.wrong("executor_missing", f"has no executor for the task {task!r}", "executors")
    return Entry(client, ("executors", takes[0], "executor"))


def tasks_of(client: Config, index: int) -> list[str]:
    """The tasks of one entry of ``executors``. Not a list of texts: BadConfig."""
    tasks = client.list_at("executors", index, "tasks")
    if not all(isinstance(task, str) for task in tasks):
        raise client.wrong("config_shape", "must be a list of texts", "executors", index, "tasks")
    return tasks


def workflow_of(server: Config) -> Entry:
    """The first workflow, the one that trains. None there: BadConfig."""
    if not server.objects_at("workflows"):
        raise server.wrong("workflow_missing", "has no workflow", "workflows")
    return Entry(server, ("workflows", 0))


def component_of(server: Config, id: str) -> Entry | None:
    """The server component with this id; None when there is none."""
    ids = [each.get("id") for each in server.objects_at("components")]
    return Entry(server, ("components", ids.index(id))) if id in ids else None


def persistor_of(server: Config) -> Entry:
    """The component that the training workflow names as its persistor. None there: BadConfig."""
    id = workflow_of(server).args.get("persistor_id", "persistor")
    found = component_of(server, id) if isinstance(id, str) else None
    if found is None:
        raise server.wrong("component_missing", f"has no component with the id {id!r}", "components")
    return found


def model_of(server: Config) -> Entry | None:
    """The model class and its arguments as the persistor is given them; None when it is given none."""
    persistor = persistor_of(server)
    keys = (*persistor.keys, "args", "model")
    return Entry(server, keys) if isinstance(persistor.args.get("model"), dict) else None


def built_in(server: Config) -> list[Entry]:
    """Everything that NVFLARE builds from the server config: its components, then its workflows."""
    return [Entry(server, (place, i)) for place in ("components", "workflows") for i, _ in enumerate(server.objects_at(place))]


def whole_number(entry: Entry, name: str, default: int, least: int) -> int:
    """The whole-number argument of that name. Not one, or below ``least``: BadConfig."""
    found = entry.args.get(name, default)
    if isinstance(found, bool) or not isinstance(found, int) or found < least:
        problem = f"must be a whole number of at least {least}"
        raise entry.config.wrong("config_number", problem, *entry.keys, "args", name)
    return found


def text(entry: Entry, name: str, default: str) -> str:
    """The name-like text argument of that name. Something else: BadConfig."""
    found = entry.args.get(name, default)
    if not isinstance(found, str) or not DOTTED.fullmatch(found):
        raise entry.config.wrong("config_text", "must be a name", *entry.keys, "args", name)
    return found


def parameters_of(executor: Entry) -> dict[str, JsonValue]:
    """The training parameters in their order: the executor's arguments without its own."""
    return {name: value for name, value in executor.args.items() if name not in EXECUTOR_ARGUMENTS}


def read_client(files: Mapping[str, bytes]) -> Config:
    """configs/config_fed_client.json; see Config.read."""
    return Config.read(files, CLIENT_CONFIG)


def read_server(files: Mapping[str, bytes]) -> Config:
    """configs/config_fed_server.json; see Config.read."""
    return Config.read(files, SERVER_CONFIG)


def read_meta(files: Mapping[str, bytes]) -> Config:
    """configs/meta.json; see Config.read."""
    return Config.read(files, META)

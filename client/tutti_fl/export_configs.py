"""A workspace's configs as NVFLARE itself reads them: strict JSON in its full form. What needs no change keeps its bytes."""

import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any, Self

from tutti_fl.errors import TuttiError

CLIENT, SERVER, META = "config_fed_client.json", "config_fed_server.json", "meta.json"
_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"?|//[^\n]*|/\*.*?\*/', re.DOTALL)
_HINT = "Export a whole workspace folder, as 'aws s3 cp --recursive' fetches it from jobs/ in your bucket."

Object = dict[str, Any]


@dataclass(frozen=True)
class Config:
    """One config file: its text as found, and what it says."""

    name: str
    text: str
    value: Object

    @classmethod
    def read(cls, folder: Path, name: str) -> Self:
        """The config in ``folder``/configs, its comments ignored; TuttiError ``config_missing`` or ``config_invalid``."""
        path = folder / "configs" / name
        if not path.is_file():
            raise TuttiError("config_missing", f"{folder} holds no configs/{name}", _HINT)
        text = path.read_bytes().decode("utf-8-sig", "replace")
        try:
            value = json.loads(without_comments(text))
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise TuttiError("config_invalid", f"configs/{name} is not JSON: {error.msg} ({place})") from error
        if not isinstance(value, dict):
            raise TuttiError("config_invalid", f"configs/{name} must be an object in {{ }}")
        return cls(name, path.read_bytes().decode("utf-8", "replace"), value)

    def written(self, value: Object) -> str:
        """The text for ``value``: the one found when that says the same in strict JSON, else a new one."""
        return self.text if _strict(self.text) == value else json.dumps(value, indent=2) + "\n"

    def difference(self, text: str) -> list[str]:
        """How ``text`` differs from what was found, line by line; nothing when it does not."""
        before, after = self.text.splitlines(), text.splitlines()
        return list(unified_diff(before, after, f"workspace/configs/{self.name}", f"job/{self.name}", lineterm="", n=1))


def without_comments(text: str) -> str:
    """The text with every comment outside a string replaced by blanks, so that all positions stay."""

    def blank(match: re.Match[str]) -> str:
        return match.group() if match.group().startswith('"') else re.sub(r"[^\n]", " ", match.group())

    return _COMMENT.sub(blank, text)


def client_config(config: Config, data_root: str | None) -> Object:
    """The client config in the full form, with this data_root where one is given."""
    value: Object = config.value if "format_version" in config.value else {"format_version": 2, **config.value}
    value = deepcopy(value)
    if "executors" not in value and isinstance(value.get("executor"), dict):
        value["executors"] = [{"tasks": ["train"], "executor": value.pop("executor")}]
        for name in ("task_data_filters", "task_result_filters", "components"):
            value.setdefault(name, [])
    if data_root is not None:
        executor = _training_executor(config, value)
        executor["args"] = {"data_root": data_root} | (executor.get("args") or {}) | {"data_root": data_root}
    return value


def data_root_of(client: Object) -> str | None:
    """Where a site's executor looks for its data, when the config says so."""
    for row in _objects(client.get("executors")):
        found = _object(_object(row.get("executor")).get("args")).get("data_root")
        if isinstance(found, str):
            return found
    return None


def server_config(config: Config, checkpoint: str | None) -> Object:
    """The server config, whose persistor starts from this file beside the scripts, or from no file."""
    value: Object = config.value if "format_version" in config.value else {"format_version": 2, **config.value}
    value = deepcopy(value)
    workflows = _objects(value.get("workflows"))
    id = _object(workflows[0].get("args")).get("persistor_id", "persistor") if workflows else "persistor"
    for component in _objects(value.get("components")):
        if component.get("id") == id:
            _start_from(component, checkpoint)
    return value


def meta(config: Config, name: str, deploy_map: Mapping[str, Sequence[str]]) -> Object:
    """meta.json with every name that NVFLARE asks for, and the apps where they go."""
    return (
        {"name": name, "resource_spec": {}} | config.value | {"deploy_map": {app: [*sites] for app, sites in deploy_map.items()}}
    )


def _start_from(persistor: Object, checkpoint: str | None) -> None:
    args = _object(persistor.get("args"))
    if checkpoint is not None:
        persistor["args"] = args | {"source_ckpt_file_full_name": checkpoint}
    else:
        args.pop("source_ckpt_file_full_name", None)


def _training_executor(config: Config, value: Object) -> Object:
    for row in _objects(value.get("executors")):
        if {"train", "*"} & set(row.get("tasks") or []) and isinstance(row.get("executor"), dict):
            return _object(row["executor"])
    raise TuttiError("config_invalid", f"configs/{config.name} has no executor for the task 'train'")


def _strict(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


def _object(value: Any) -> Object:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Object]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []

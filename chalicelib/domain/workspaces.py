"""What a workspace holds: the files the wizard writes into it, its five cards, its shards."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import JsonValue

from chalicelib.contracts.files import ObjectInfo
from chalicelib.contracts.report import Card, CardState
from chalicelib.contracts.wizard import FederationStep, WizardForm
from chalicelib.domain.errors import InvalidRequest
from chalicelib.domain.launch import natural_key
from chalicelib.domain.naming import clean_name
from chalicelib.domain.typing_rules import check_arguments, check_parameters

EXECUTOR = "custom_client_executor.py"
PERSISTOR = "custom_persistor.py"
STARTER = "model_def_starter.py"
"""The starter's name among the sources; in a workspace it is TEMPLATE."""
TEMPLATE = "model_def_wrapper_template.py"
CLIENT_CONFIG = "config_fed_client.json"
SERVER_CONFIG = "config_fed_server.json"
META = "meta.json"
REQUIREMENTS = "requirements/requirements.txt"
DATA_ROOT = "/var/tmp/nvflare/data"  # noqa: S108 (the path inside a worker that the documentation promises)
SCATTER_AND_GATHER = "nvflare.app_common.workflows.scatter_and_gather.ScatterAndGather"
AGGREGATOR = "nvflare.app_common.aggregators.intime_accumulate_model_aggregator.InTimeAccumulateWeightedAggregator"
GENERATOR = "nvflare.app_common.shareablegenerators.full_model_shareable_generator.FullModelShareableGenerator"
TASKS = ("train", "validate", "submit_model")

_REQUIREMENTS = """\
# The oldest PyTorch that jobs run with; add the packages your model_def.py imports below.
torch>=2.7.1
# The minor version of NVFLARE that the platform's server speaks.
nvflare~=2.9.0
"""
_STARTER_LINE = re.compile(r"^HYPERPARAMETERS = \{.*\}$", re.MULTILINE)
_CARDS = (
    ("scripts", "Scripts", True),
    ("configs", "Configs", True),
    ("requirements", "Requirements", True),
    ("shards", "Dataset Shards", True),
    ("model", "Base Model", False),
)
_JUNK = re.compile(r"(^|/)(\.DS_Store|Thumbs\.db|desktop\.ini|\._[^/]*|__MACOSX(/.*)?|__pycache__/.*)$", re.IGNORECASE)


def minimum_workers(workers: int) -> int:
    """How many workers must answer in a round: all of one or two, two thirds rounded up above that."""
    return workers if workers < 3 else -(-2 * workers // 3)


def render(form: WizardForm, scripts: Mapping[str, str]) -> dict[str, str]:
    """The generated files of a workspace, path relative to it → text; the same form gives the same texts.

    ``scripts`` are job_scripts.sources(). A name without a letter or digit, or a parameter against its rules:
    InvalidRequest whose ``fields`` name the form's fields.
    """
    name = clean_name(form.name.name)
    if name is None:
        raise InvalidRequest(_NAMELESS, fields={"name.name": _NAMELESS})
    parameters = check_parameters(form.training.parameters)
    return {
        f"scripts/{EXECUTOR}": scripts[EXECUTOR],
        f"scripts/{PERSISTOR}": scripts[PERSISTOR],
        f"scripts/{TEMPLATE}": _starter(scripts[STARTER], parameters),
        f"configs/{CLIENT_CONFIG}": write_config(_client(form, parameters)),
        f"configs/{SERVER_CONFIG}": write_config(_server(form)),
        f"configs/{META}": write_config(_meta(name, form.federation.minimum_workers)),
        REQUIREMENTS: _REQUIREMENTS,
    }


_NAMELESS = "the name has no letter or digit that can stand in a folder name"


def write_config(value: Mapping[str, Any]) -> str:
    """A config's text: two blanks an indent, keys in their order, ASCII, a line end at the end."""
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def is_junk(name: str) -> bool:
    """True for what operating systems and Python leave behind and nobody means to upload."""
    return bool(_JUNK.search(name))


def files_in(folder: str, objects: Iterable[ObjectInfo], prefix: str) -> list[ObjectInfo]:
    """The files of one folder of the workspace under ``prefix``; folder markers and junk are none."""
    start = f"{prefix}{folder}/"
    inside = (item for item in objects if item.key.startswith(start))
    return [item for item in inside if not item.key.endswith("/") and not is_junk(item.key[len(start) :])]


def shards(objects: Iterable[ObjectInfo], prefix: str) -> list[ObjectInfo]:
    """The zips in ``shards/`` in natural order: the first is site-1's."""
    found = [item for item in files_in("shards", objects, prefix) if is_shard(item.key)]
    return sorted(found, key=lambda item: natural_key(item.key))


def is_shard(name: str) -> bool:
    """True for a name in ``shards/`` that stands for a worker."""
    return name.lower().endswith(".zip")


def checkpoints(objects: Iterable[ObjectInfo], prefix: str) -> list[ObjectInfo]:
    """The ``.pt`` files of ``model/``; a launch accepts at most one."""
    return [item for item in files_in("model", objects, prefix) if item.key.endswith(".pt")]


def cards(objects: Iterable[ObjectInfo], prefix: str) -> tuple[Card, ...]:
    """The five cards of the Validate step. ``Dataset Shards`` counts zips only, each a worker."""
    listed = list(objects)
    return tuple(_card(folder, title, required, listed, prefix) for folder, title, required in _CARDS)


def can_continue(cards: Iterable[Card]) -> bool:
    """Whether *Continue to Launch* unlocks: every required folder holds a file."""
    return all(card.state is CardState.READY for card in cards if card.required)


def _card(folder: str, title: str, required: bool, objects: list[ObjectInfo], prefix: str) -> Card:
    items = shards(objects, prefix) if folder == "shards" else files_in(folder, objects, prefix)
    lacking = CardState.NEEDS_FILES if required else CardState.EMPTY
    state = CardState.READY if items else lacking
    size = sum(item.size for item in items)
    return Card(folder=folder, title=title, required=required, state=state, count=len(items), size=size)


def _starter(source: str, parameters: Mapping[str, JsonValue]) -> str:
    filled, count = _STARTER_LINE.subn(lambda _: f"HYPERPARAMETERS = {dict(parameters)!r}", source, count=1)
    if not count:
        raise ValueError(f"{STARTER} has no line HYPERPARAMETERS = {{…}} to fill in")
    return filled


def _client(form: WizardForm, parameters: Mapping[str, JsonValue]) -> dict[str, Any]:
    platform = {
        "data_root": DATA_ROOT,
        "adapter_module": form.model.adapter_module,
        "train_fn": form.model.train_fn,
    }
    executor = {"path": f"{EXECUTOR.removesuffix('.py')}.GenericClientExecutor", "args": platform | _plain(parameters)}
    return {
        "format_version": 2,
        "executors": [{"tasks": list(TASKS), "executor": executor}],
        "task_data_filters": [],
        "task_result_filters": [],
        "components": [],
    }


def _server(form: WizardForm) -> dict[str, Any]:
    model = {"path": form.model.model_class, "args": _plain(check_arguments(form.model.arguments))}
    persistor = f"{PERSISTOR.removesuffix('.py')}.CustomPersistor"
    return {
        "format_version": 2,
        "server": {"heart_beat_timeout": form.federation.heartbeat_timeout_s},
        "task_data_filters": [],
        "task_result_filters": [],
        "components": [
            {"id": "persistor", "path": persistor, "args": {"model": model}},
            {"id": "shareable_generator", "path": GENERATOR, "args": {}},
            {"id": "aggregator", "path": AGGREGATOR, "args": {"expected_data_kind": "WEIGHTS"}},
        ],
        "workflows": [{"id": "scatter_and_gather", "path": SCATTER_AND_GATHER, "args": _workflow(form.federation)}],
    }


def _workflow(federation: FederationStep) -> dict[str, JsonValue]:
    return {
        "min_clients": federation.minimum_workers,
        "num_rounds": federation.rounds,
        "start_round": 0,
        "wait_time_after_min_received": federation.wait_for_stragglers_s,
        "train_timeout": federation.training_timeout_s,
        "train_task_name": "train",
        "aggregator_id": "aggregator",
        "persistor_id": "persistor",
        "shareable_generator_id": "shareable_generator",
    }


def _meta(name: str, minimum: int) -> dict[str, Any]:
    return {"name": name, "resource_spec": {}, "deploy_map": {"app": ["@ALL"]}, "min_clients": minimum}


def _plain(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """NVFLARE takes an object with a path for a component to build unless it is marked as a plain dict."""
    return {
        name: {**value, "config_type": "dict"} if isinstance(value, dict) and _looks_built(value) else value
        for name, value in values.items()
    }


def _looks_built(value: Mapping[str, JsonValue]) -> bool:
    return not value.keys().isdisjoint(("path", "class_path", "name")) and "config_type" not in value

"""Workspaces for tests: a good one, and ways to spoil it."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from chalicelib.contracts.files import ObjectInfo
from chalicelib.contracts.wizard import FederationStep, ModelStep, NameStep, Parameter, TrainingStep, WizardForm
from chalicelib.domain.archives import ArchiveDirectory, ArchiveEntry, Unreadable
from chalicelib.domain.snapshot import WorkspaceSnapshot
from chalicelib.domain.workspaces import render

PREFIX = "jobs/demo/"
SCRIPTS = {
    "custom_client_executor.py": "class GenericClientExecutor:\n    TASKS = ('train', 'validate', 'submit_model')\n",
    "custom_persistor.py": "class CustomPersistor:\n    pass\n",
    "model_def_starter.py": '"""A starter."""\n\nHYPERPARAMETERS = {"local_epochs": 2}\n\nNAME = "x"\n',
}
MODEL_DEF = b"class FLModelWrapper:\n    pass\n\n\ndef fl_train_model(payload, out_dir, logger=None):\n    return {}\n"
SHARD = ArchiveDirectory((ArchiveEntry("images/a.png", 10, 8),))


def form(**changes: Any) -> WizardForm:
    """The wizard's form with its defaults; ``parameters``, ``arguments``, ``name`` and fields of the steps can be set."""
    name = changes.pop("name", "demo")
    parameters = changes.pop("parameters", None)
    arguments = changes.pop("arguments", {})
    training = TrainingStep() if parameters is None else TrainingStep(parameters=_parameters(parameters))
    federation = {key: changes.pop(key) for key in list(changes) if key in FederationStep.model_fields}
    model = ModelStep(arguments=_parameters(arguments), **changes)
    step = FederationStep(**federation)
    return WizardForm(name=NameStep(name=name), training=training, federation=step, model=model)


def _parameters(values: Mapping[str, Any]) -> tuple[Parameter, ...]:
    return tuple(Parameter(name=name, value=value) for name, value in values.items())


def good_files(**changes: Any) -> dict[str, bytes]:
    """Everything a user has uploaded when a job is ready to launch, but for the shards."""
    files = {path: text.encode() for path, text in render(form(**changes), SCRIPTS).items()}
    return files | {"scripts/model_def.py": MODEL_DEF}


def info(path: str, size: int = 1) -> ObjectInfo:
    """The listing of one file of the workspace."""
    return ObjectInfo(key=PREFIX + path, size=size, etag="e", modified=datetime(2026, 1, 1, tzinfo=UTC))


def workspace(
    *,
    files: Mapping[str, bytes | str | None] | None = None,
    shards: Mapping[str, ArchiveDirectory | Unreadable] | Sequence[str] = ("a.zip",),
    others: Mapping[str, int] | None = None,
) -> WorkspaceSnapshot:
    """A good workspace with some files changed (None: gone), these shards, and other objects listed by path and size."""
    texts = {**good_files(), **{path: as_bytes(data) for path, data in (files or {}).items()}}
    kept = {path: data for path, data in texts.items() if data is not None}
    archives = dict(shards) if isinstance(shards, Mapping) else {name: SHARD for name in shards if name.endswith(".zip")}
    listed = [info(path, len(data)) for path, data in kept.items()]
    listed += [info(f"shards/{name}") for name in shards]
    listed += [info(path, size) for path, size in (others or {}).items()]
    held = {f"shards/{name}": archive for name, archive in archives.items()}
    return WorkspaceSnapshot("demo", PREFIX, tuple(listed), kept, held)


def as_bytes(data: bytes | str | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data


def config(name: str, **changes: Any) -> dict[str, Any]:
    """One of the generated configs as a value; ``client``, ``server`` or ``meta``."""
    names = {"client": "config_fed_client.json", "server": "config_fed_server.json", "meta": "meta.json"}
    value: dict[str, Any] = json.loads(good_files(**changes)[f"configs/{names[name]}"])
    return value


def zip_bytes(*names: str, data: bytes = b"data") -> bytes:
    """A zip with these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, data)
    return buffer.getvalue()

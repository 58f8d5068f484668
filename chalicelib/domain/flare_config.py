"""The launched copy: what a job really runs, made from the files a user has in the bucket, which stay as they are."""

import ast
from collections.abc import Mapping
from copy import deepcopy
from difflib import unified_diff

from chalicelib.contracts.job import LaunchedFile
from chalicelib.domain.configs import (
    PATH_KEYS,
    Entry,
    Object,
    executor_of,
    persistor_of,
    read_client,
    read_meta,
    read_server,
    workflow_of,
)
from chalicelib.domain.errors import BadConfig
from chalicelib.domain.flare_facts import Facts, read_facts
from chalicelib.domain.python_text import constructor_arguments
from chalicelib.domain.text import decode, read
from chalicelib.domain.workspaces import (
    AGGREGATOR,
    CLIENT_CONFIG,
    DATA_ROOT,
    EXECUTOR,
    GENERATOR,
    META,
    PERSISTOR,
    REQUIREMENTS,
    SCATTER_AND_GATHER,
    SERVER_CONFIG,
    TASKS,
    TEMPLATE,
    is_junk,
    minimum_workers,
    write_config,
)

__all__ = ["CHECKPOINT", "Facts", "differences", "launched_copy", "read_facts"]

OUT_DIR = "/var/tmp/nvflare/out"  # noqa: S108 (a canonical path as well)
CHECKPOINT = "/var/tmp/nvflare/checkpoint/checkpoint.pt"  # noqa: S108 (the canonical path; each worker puts its own there)
GENERIC_EXECUTOR = "custom_client_executor.GenericClientExecutor"
GUARD = {"id": "tutti_guard", "path": "tutti_worker.federation.guard.UpdateGuard"}
SWAPS = {
    SCATTER_AND_GATHER: "tutti_worker.federation.rounds.TuttiScatterAndGather",
    AGGREGATOR: "tutti_worker.federation.averaging.OrderedAverage",
}
ORIGINS = {
    "meta.json": f"configs/{META}",
    "app/config/config_fed_client.json": f"configs/{CLIENT_CONFIG}",
    "app/config/config_fed_server.json": f"configs/{SERVER_CONFIG}",
}
"""Which file of the workspace a config of the launched copy comes from."""


def launched_copy(
    files: Mapping[str, bytes],
    *,
    job_id: str,
    workers: int,
    checkpoint: bool,
    scripts: Mapping[str, str] | None = None,
) -> dict[str, bytes]:
    """The contents of job.zip from a workspace's scripts, configs and requirements (path in it → bytes).

    ``scripts`` (job_scripts.sources()) fill in for an executor or persistor that the configs name and the workspace lacks.
    A config that is not JSON or not NVFLARE's: BadJson or BadConfig with file, line and key. Nothing in ``files`` changes.
    """
    custom = _custom(files, scripts or {})
    minimum = minimum_workers(workers)
    configs = {
        "meta.json": _meta(files, job_id, minimum),
        "app/config/config_fed_client.json": _client(files, custom, scripts or {}),
        "app/config/config_fed_server.json": _server(files, minimum, checkpoint, ours=_ours(custom, scripts or {})),
    }
    requirements = read(files.get(REQUIREMENTS, b""), REQUIREMENTS)
    return {
        **{path: write_config(value).encode() for path, value in configs.items()},
        **{f"app/custom/{name}": data for name, data in custom.items()},
        "requirements.txt": requirements.encode(),
    }


def differences(files: Mapping[str, bytes], launched: Mapping[str, bytes]) -> tuple[LaunchedFile, ...]:
    """Each config of the launched copy with its unified diff from the workspace's; comments and layout count as differences."""
    return tuple(
        LaunchedFile(path=path, text=decode(launched[path]), diff=_diff(files.get(origin, b""), launched[path], origin))
        for path, origin in ORIGINS.items()
        if path in launched
    )


def _diff(before: bytes, after: bytes, origin: str) -> str:
    old, new = decode(before).splitlines(), decode(after).splitlines()
    return "\n".join(unified_diff(old, new, f"workspace/{origin}", f"launched/{origin}", lineterm="", n=2))


def _custom(files: Mapping[str, bytes], scripts: Mapping[str, str]) -> dict[str, bytes]:
    ours = {path.removeprefix("scripts/"): data for path, data in files.items() if path.startswith("scripts/")}
    custom = {name: data for name, data in ours.items() if name != TEMPLATE and not is_junk(name)}
    for name in _named_scripts(files):
        if name not in custom:
            custom[name] = _fallback(name, scripts)
    return custom


def _named_scripts(files: Mapping[str, bytes]) -> set[str]:
    named = (executor_of(read_client(files)).class_path, persistor_of(read_server(files)).class_path)
    return {f"{path.partition('.')[0]}.py" for path in named} & {EXECUTOR, PERSISTOR}


def _fallback(name: str, scripts: Mapping[str, str]) -> bytes:
    if name not in scripts:
        raise BadConfig("script_missing", f"scripts/{name} is missing", path=f"scripts/{name}", key="")
    return scripts[name].encode()


def _meta(files: Mapping[str, bytes], job_id: str, minimum: int) -> Object:
    meta = deepcopy(read_meta(files).value)
    meta.setdefault("name", job_id)
    meta.setdefault("resource_spec", {})
    return meta | {"deploy_map": {"app": ["@ALL"]}, "min_clients": minimum, "tutti_job_id": job_id}


def _client(files: Mapping[str, bytes], custom: Mapping[str, bytes], scripts: Mapping[str, str]) -> Object:
    config = read_client(files)
    entry = executor_of(config)
    client = _full_form(deepcopy(config.value))
    index = entry.keys[1] if len(entry.keys) > 1 else 0
    assert isinstance(index, int)  # noqa: S101
    row = client["executors"][index]
    row["executor"]["args"] = args = deepcopy(entry.args)
    args.update(_folders(entry, custom, scripts))
    if entry.class_path == GENERIC_EXECUTOR and _takes_all_tasks(custom[EXECUTOR], scripts.get(EXECUTOR)):
        taken = {task for other in client["executors"] for task in other.get("tasks", [])}
        row["tasks"] = [*row["tasks"], *(task for task in TASKS if not taken & {task, "*"})]
    client.setdefault("default_task_fetch_interval", 0.1)
    return client


def _folders(entry: Entry, custom: Mapping[str, bytes], scripts: Mapping[str, str]) -> Object:
    """The canonical folders, for an executor that is given data_root or visibly takes it; ours is told its own by the worker."""
    module, _, name = entry.class_path.rpartition(".")
    file = f"{module.replace('.', '/')}.py"
    taken = constructor_arguments(custom.get(file, b""), name)
    folders = {"data_root": DATA_ROOT} if "data_root" in {*entry.args, *taken} else {}
    ours = entry.class_path == GENERIC_EXECUTOR and EXECUTOR in _ours(custom, scripts)
    if "out_dir_name" in taken and not ours:
        # An executor as the port guide prints it joins this to data_root, and a path from / wins over what it is joined to.
        folders["out_dir_name"] = OUT_DIR
    return folders


def _full_form(client: Object) -> Object:
    """The guide's short form names one executor and no tasks; NVFLARE wants a list of executors with theirs."""
    full: Object = {"format_version": 2}
    if "executors" not in client:
        full["executors"] = [{"tasks": ["train"], "executor": client.pop("executor")}]
    full |= client
    for name in ("task_data_filters", "task_result_filters", "components"):
        full.setdefault(name, [])
    return full


def _takes_all_tasks(source: bytes, ours: str | None) -> bool:
    """A user's executor gets more tasks than its config says only when it visibly knows them."""
    if ours is not None and decode(source).splitlines() == ours.splitlines():
        return True
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    words = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    words |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return bool(words & {"validate", "TASK_VALIDATION"}) and bool(words & {"submit_model", "TASK_SUBMIT_MODEL"})


def _server(files: Mapping[str, bytes], minimum: int, checkpoint: bool, *, ours: set[str]) -> Object:
    config = read_server(files)
    persistor, workflow = persistor_of(config), workflow_of(config)
    server: Object = {"format_version": 2, **deepcopy(config.value)}
    server["server"] = {"task_request_interval": 0.1, **config.object_at("server")}
    _set_checkpoint(server["components"][persistor.keys[1]], checkpoint)
    if PERSISTOR in ours:
        _leave_model_to_persistor(server["components"][persistor.keys[1]])
    for place in ("components", "workflows"):
        for index, _ in enumerate(config.objects_at(place)):
            _swap(server[place][index])
    flow = server["workflows"][workflow.keys[1]]
    flow["args"] = {**(flow.get("args") or {}), "min_clients": minimum}
    flow["args"].setdefault("task_check_period", 0.05)
    if {EXECUTOR, PERSISTOR} <= ours and _is_plain(server, read_client(files).value, persistor.class_path):
        server["components"][persistor.keys[1]]["args"].setdefault("exchange", "auto")
        flow["args"].setdefault("enable_tensor_disk_offload", True)
    others = [each for each in server["components"] if each.get("id") != GUARD["id"]]
    server["components"] = [*others, {**GUARD, "args": {"min_clients": minimum}}]
    return server


def _is_plain(server: Object, client: Object, persistor: str) -> bool:
    """Whether nothing but what the wizard writes sees the weights; a part of the user's own may know numpy arrays only."""
    known = (persistor, GENERATOR, SWAPS[AGGREGATOR], GUARD["path"])
    filters = (config.get(name) for config in (server, client) for name in ("task_data_filters", "task_result_filters"))
    plain = all(each.get("path") in known for each in server["components"])
    return plain and server["workflows"][0].get("path") == SWAPS[SCATTER_AND_GATHER] and not any(filters)


def _set_checkpoint(persistor: Object, checkpoint: bool) -> None:
    persistor["args"] = args = dict(persistor.get("args") or {})
    args.pop("source_ckpt_file_full_name", None)
    if checkpoint:
        args["source_ckpt_file_full_name"] = CHECKPOINT


def _ours(custom: Mapping[str, bytes], scripts: Mapping[str, str]) -> set[str]:
    """Which scripts are the platform's own, and not ones a user has changed."""
    return {name for name, text in scripts.items() if name in custom and decode(custom[name]).splitlines() == text.splitlines()}


def _leave_model_to_persistor(persistor: Object) -> None:
    """Keep NVFLARE from building the model while it parses the config: our persistor builds it and names the line that fails."""
    model = persistor["args"].get("model")
    if isinstance(model, dict) and "path" in model:
        persistor["args"]["model"] = {**model, "config_type": "dict"}


def _swap(entry: Object) -> None:
    """A stock class by its path, or by its bare name as NVFLARE also allows."""
    for stock, ours in SWAPS.items():
        for key in PATH_KEYS:
            if entry.get(key) == stock or (key == "name" and entry.get(key) == stock.rpartition(".")[2]):
                entry["path"] = ours
                if key != "path":
                    del entry[key]

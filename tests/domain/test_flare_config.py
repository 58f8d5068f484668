"""The launched copy."""

import json
from typing import Any

import pytest

from chalicelib.contracts.report import Level
from chalicelib.domain.errors import BadConfig, BadJson
from chalicelib.domain.flare_config import CHECKPOINT, OUT_DIR, differences, launched_copy, read_facts
from chalicelib.domain.validation import findings
from chalicelib.domain.workspaces import DATA_ROOT
from tests.domain.builders import SCRIPTS, config, good_files, workspace

CLIENT, SERVER, META = "configs/config_fed_client.json", "configs/config_fed_server.json", "configs/meta.json"
OWN_EXECUTOR = b"class GenericClientExecutor:\n    pass\n"
GUIDE_CLIENT = b"""{
"executor": {
 "path": "custom_client_executor.GenericClientExecutor",
 "args": {
  "data_root": "/somewhere/else", // DON'T CHANGE
  "adapter_module": "model_def",
  "train_fn": "fl_train_model",
  "url": "https://a//b", /* kept */
  "local_epochs": 3
 }
}
}"""


def launched(files: dict[str, bytes], *, workers: int = 3, checkpoint: bool = False) -> dict[str, bytes]:
    return launched_copy(files, job_id="job-1", workers=workers, checkpoint=checkpoint, scripts=SCRIPTS)


def client_of(copy: dict[str, bytes]) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(copy["app/config/config_fed_client.json"])
    return value


def server_of(copy: dict[str, bytes]) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(copy["app/config/config_fed_server.json"])
    return value


def component(server: dict[str, Any], id: str) -> dict[str, Any]:
    [found] = [each for each in server["components"] if each["id"] == id]
    return dict(found)


def with_server(**changes: Any) -> dict[str, bytes]:
    return good_files() | {SERVER: json.dumps({**config("server"), **changes}).encode()}


def test_the_zip_holds_what_nvflare_wants_and_not_the_template() -> None:
    assert sorted(launched(good_files())) == [
        "app/config/config_fed_client.json",
        "app/config/config_fed_server.json",
        "app/custom/custom_client_executor.py",
        "app/custom/custom_persistor.py",
        "app/custom/model_def.py",
        "meta.json",
        "requirements.txt",
    ]


@pytest.mark.parametrize(("workers", "minimum"), [(1, 1), (2, 2), (3, 2), (10, 7)])
def test_the_minimum_is_written_in_meta_workflow_and_guard(workers: int, minimum: int) -> None:
    copy = launched(good_files(minimum_workers=5), workers=workers)
    server = server_of(copy)
    written = (
        json.loads(copy["meta.json"])["min_clients"],
        server["workflows"][0]["args"]["min_clients"],
        component(server, "tutti_guard")["args"]["min_clients"],
    )
    assert written == (minimum,) * 3


def test_meta_deploys_the_one_app_everywhere_and_keeps_what_the_user_wrote() -> None:
    meta = json.dumps({"name": "mine", "deploy_map": {"other": ["site-1"]}, "min_clients": 9, "custom": {"a": 1}})
    copy = json.loads(launched(good_files() | {META: meta.encode()})["meta.json"])
    assert (copy["name"], copy["deploy_map"], copy["custom"]) == ("mine", {"app": ["@ALL"]}, {"a": 1})


def test_the_stock_workflow_and_aggregator_are_replaced() -> None:
    server = server_of(launched(good_files()))
    assert server["workflows"][0]["path"] == "tutti_worker.federation.rounds.TuttiScatterAndGather"
    assert component(server, "aggregator")["path"] == "tutti_worker.federation.averaging.OrderedAverage"


def test_a_users_own_workflow_is_left_in_place() -> None:
    flow = {"id": "mine", "path": "mine.Workflow", "args": {"persistor_id": "persistor"}}
    assert server_of(launched(with_server(workflows=[flow])))["workflows"][0]["path"] == "mine.Workflow"


def test_the_polls_are_tuned_and_the_users_heartbeat_timeout_is_kept() -> None:
    copy = launched(good_files(heartbeat_timeout_s=77))
    server = server_of(copy)
    assert server["server"] == {"task_request_interval": 0.1, "heart_beat_timeout": 77}
    assert server["workflows"][0]["args"]["task_check_period"] == 0.05
    assert client_of(copy)["default_task_fetch_interval"] == 0.1


def test_a_checkpoint_is_named_by_its_canonical_path() -> None:
    args = component(server_of(launched(good_files(), checkpoint=True)), "persistor")["args"]
    assert args["source_ckpt_file_full_name"] == CHECKPOINT


def test_without_a_checkpoint_the_line_of_the_guide_is_removed() -> None:
    components = config("server")["components"]
    components[0]["args"]["source_ckpt_file_full_name"] = "/app/checkpoints/GLOBAL_MODEL.pt"
    args = component(server_of(launched(with_server(components=components))), "persistor")["args"]
    assert "source_ckpt_file_full_name" not in args


def test_the_guides_short_form_becomes_executors() -> None:
    [row] = client_of(launched(good_files() | {CLIENT: GUIDE_CLIENT}))["executors"]
    assert row["tasks"] == ["train", "validate", "submit_model"]
    assert list(row["executor"]["args"].items())[-2:] == [("url", "https://a//b"), ("local_epochs", 3)]


def test_the_data_root_is_the_canonical_one() -> None:
    [row] = client_of(launched(good_files() | {CLIENT: GUIDE_CLIENT}))["executors"]
    assert row["executor"]["args"]["data_root"] == "/var/tmp/nvflare/data"  # noqa: S108


TAKING_FOLDERS = b"""class GenericClientExecutor:
    def __init__(self, data_root="/mine", *, local_epochs=1, out_dir_name="runs"):
        pass
"""


def args_of(**files: Any) -> Any:
    """The training executor's arguments in the launched copy."""
    return client_of(launched(good_files() | files))["executors"][0]["executor"]["args"]


def test_a_users_executor_that_takes_the_platforms_folders_gets_them_unasked() -> None:
    own = json.dumps({"executor": {"path": "custom_client_executor.GenericClientExecutor", "args": {"local_epochs": 3}}})
    files = {CLIENT: own.encode(), "scripts/custom_client_executor.py": TAKING_FOLDERS}
    assert args_of(**files) == {"local_epochs": 3, "data_root": DATA_ROOT, "out_dir_name": OUT_DIR}


def test_an_executor_that_does_not_take_the_platforms_folders_is_given_none() -> None:
    own = json.dumps({"executor": {"path": "custom_client_executor.GenericClientExecutor", "args": {"local_epochs": 3}}})
    files = {CLIENT: own.encode(), "scripts/custom_client_executor.py": OWN_EXECUTOR}
    assert args_of(**files) == {"local_epochs": 3}


def test_our_own_executor_keeps_the_out_dir_name_of_the_workspace() -> None:
    assert "out_dir_name" not in args_of()


def test_an_edited_executor_that_knows_one_task_gets_one_task() -> None:
    files = good_files() | {CLIENT: GUIDE_CLIENT, "scripts/custom_client_executor.py": OWN_EXECUTOR}
    [row] = client_of(launched(files))["executors"]
    assert row["tasks"] == ["train"]


def test_an_executor_under_another_name_keeps_its_tasks() -> None:
    own = json.dumps({"executors": [{"tasks": ["train"], "executor": {"path": "mine.Executor", "args": {"x": 1}}}]})
    files = good_files() | {CLIENT: own.encode(), "scripts/mine.py": OWN_EXECUTOR}
    [row] = client_of(launched(files))["executors"]
    assert row == {"tasks": ["train"], "executor": {"path": "mine.Executor", "args": {"x": 1}}}


def model_of(launched: dict[str, bytes]) -> Any:
    server = json.loads(launched["app/config/config_fed_server.json"])
    return next(part for part in server["components"] if part["id"] == "persistor")["args"]["model"]


def test_our_own_persistor_builds_the_model_itself() -> None:
    assert model_of(launched(good_files()))["config_type"] == "dict"


def test_a_users_own_persistor_is_given_the_model_as_nvflare_gives_it() -> None:
    files = {**good_files(), "scripts/custom_persistor.py": b"class CustomPersistor:\n    mine = True\n"}
    assert "config_type" not in model_of(launched(files))


def test_unknown_keys_survive() -> None:
    assert server_of(launched(with_server(np_download_chunk_size=7)))["np_download_chunk_size"] == 7


def test_missing_generated_scripts_are_supplied() -> None:
    files = {path: data for path, data in good_files().items() if path != "scripts/custom_persistor.py"}
    assert launched(files)["app/custom/custom_persistor.py"] == SCRIPTS["custom_persistor.py"].encode()


def test_missing_generated_scripts_that_nobody_supplies_are_named() -> None:
    files = {path: data for path, data in good_files().items() if path != "scripts/custom_persistor.py"}
    with pytest.raises(BadConfig, match="custom_persistor"):
        launched_copy(files, job_id="job-1", workers=1, checkpoint=False)


def test_files_beside_the_scripts_travel_with_them() -> None:
    files = good_files() | {"scripts/nets/small.py": b"x = 1", "scripts/labels.json": b"[]", "scripts/.DS_Store": b"x"}
    copy = launched(files)
    assert {"app/custom/nets/small.py", "app/custom/labels.json"} <= set(copy)
    assert "app/custom/.DS_Store" not in copy


def test_requirements_are_handed_on_as_utf_8() -> None:
    files = good_files() | {"requirements/requirements.txt": "numpy\n".encode("utf-16")}
    assert launched(files)["requirements.txt"] == b"numpy\n"


def test_the_workspaces_files_are_not_changed() -> None:
    files = good_files()
    before = dict(files)
    launched(files, checkpoint=True)
    assert files == before


def test_launching_the_launched_configs_again_changes_nothing_more() -> None:
    first = launched(good_files(), checkpoint=True)
    again = good_files() | {SERVER: first["app/config/config_fed_server.json"], META: first["meta.json"]}
    assert server_of(launched(again, checkpoint=True)) == server_of(first)


def test_the_difference_shows_what_was_changed_and_nothing_else() -> None:
    files = good_files()
    shown = {file.path: file.diff for file in differences(files, launched(files))}
    changed = [line for line in shown["meta.json"].splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == ['-  "min_clients": 1', '+  "min_clients": 2,', '+  "tutti_job_id": "job-1"']


def places(value: Any, keys: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, the whole of it first."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [keys, *(place for key, each in inner for place in places(each, (*keys, key)))]


def replaced(value: Any, keys: tuple[Any, ...], new: Any) -> Any:
    """The value with another one at this place."""
    if not keys:
        return new
    copy = value.copy()
    copy[keys[0]] = replaced(value[keys[0]], keys[1:], new)
    return copy


SPOILED = [
    (path, place, new)
    for path, name in ((CLIENT, "client"), (SERVER, "server"), (META, "meta"))
    for place in places(config(name))
    for new in (None, 0, "x y", [], {}, [3], {"a": 1})
]


@pytest.mark.parametrize(("path", "place", "new"), SPOILED)
def test_any_value_spoiled_in_a_config_is_an_error_of_the_report_or_launches(path: str, place: Any, new: Any) -> None:
    name = {CLIENT: "client", SERVER: "server", META: "meta"}[path]
    data = json.dumps(replaced(config(name), place, new)).encode()
    report = findings(workspace(files={path: data}))
    if any(finding.level is Level.ERROR for finding in report):
        return
    files = good_files() | {path: data}
    assert read_facts(files).rounds >= 1
    assert "meta.json" in launched(files, checkpoint=True)


def test_a_config_that_is_not_json_is_named_with_its_line() -> None:
    with pytest.raises(BadJson) as caught:
        launched(good_files() | {META: b'{"name": "x",\n}'})
    assert (caught.value.path, caught.value.line) == (META, 1)


def test_facts_of_a_config_with_a_bad_number_are_refused_with_file_line_and_key() -> None:
    text = good_files()[SERVER].replace(b'"num_rounds": 5', b'"num_rounds": "5"')
    with pytest.raises(BadConfig) as caught:
        read_facts(good_files() | {SERVER: text})
    assert (caught.value.path, caught.value.key) == (SERVER, "workflows.0.args.num_rounds")
    assert text.splitlines()[(caught.value.line or 0) - 1].strip() == b'"num_rounds": "5",'


def test_facts_of_the_guides_form_have_the_parameters_without_the_executors_own_arguments() -> None:
    facts = read_facts(good_files() | {CLIENT: GUIDE_CLIENT})
    assert facts.parameters == {"url": "https://a//b", "local_epochs": 3}


def test_a_large_model_of_a_plain_job_travels_as_tensors_that_stay_on_the_servers_disk() -> None:
    server = server_of(launched(good_files()))
    told = component(server, "persistor")["args"]["exchange"], server["workflows"][0]["args"]["enable_tensor_disk_offload"]
    assert told == ("auto", True)


@pytest.mark.parametrize("files", [
    good_files() | {"scripts/custom_client_executor.py": OWN_EXECUTOR},
    with_server(components=[*config("server")["components"], {"id": "mine", "path": "mine.Filter", "args": {}}]),
    with_server(task_result_filters=[{"tasks": ["train"], "filters": [{"path": "mine.Filter"}]}]),
])  # fmt: skip
def test_a_part_of_the_users_own_gets_the_arrays_it_may_expect(files: dict[str, bytes]) -> None:
    assert "exchange" not in component(server_of(launched(files)), "persistor")["args"]

"""Every rule: what makes it fire, and that a good workspace makes none of them fire."""

import json
import pkgutil
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.contracts.report import Level
from chalicelib.contracts.worker import MODEL_LIMIT
from chalicelib.domain import rules
from chalicelib.domain.archives import ArchiveDirectory, ArchiveEntry, Damage, Unreadable
from chalicelib.domain.labels import LabelCount
from chalicelib.domain.rules import (
    archives,
    checkpoint,
    client_config,
    configs,
    entry_paths,
    executor_scripts,
    folders,
    labels,
    model_module,
    parameters,
    passwords,
    requirements,
    server_config,
    shards,
    sizes,
)
from chalicelib.domain.snapshot import WorkspaceSnapshot
from chalicelib.domain.validation import RULES, Rule, findings
from tests.domain.builders import MODEL_DEF, config, good_files, workspace

CLIENT, SERVER, META = "configs/config_fed_client.json", "configs/config_fed_server.json", "configs/meta.json"
MODEL, REQUIREMENTS = "scripts/model_def.py", "requirements/requirements.txt"


def client(change: Callable[[dict[str, Any]], object]) -> WorkspaceSnapshot:
    value = config("client")
    change(value["executors"][0]["executor"]["args"])
    return workspace(files={CLIENT: json.dumps(value, indent=2)})


def server(change: Callable[[dict[str, Any]], object]) -> WorkspaceSnapshot:
    value = config("server")
    change(value)
    return workspace(files={SERVER: json.dumps(value, indent=2)})


def rounds(value: object) -> WorkspaceSnapshot:
    return server(lambda s: s["workflows"][0]["args"].update(num_rounds=value))


def model(source: str) -> WorkspaceSnapshot:
    return workspace(files={MODEL: source})


def packages(text: str | bytes) -> WorkspaceSnapshot:
    return workspace(files={REQUIREMENTS: text if isinstance(text, bytes) else text.encode()})


def shard(*entries: ArchiveEntry) -> WorkspaceSnapshot:
    return workspace(shards={"a.zip": ArchiveDirectory(entries)})


def broken(damage: Damage) -> WorkspaceSnapshot:
    return workspace(shards={"a.zip": Unreadable(damage)})


def labelled(*labels: int, num_classes: int) -> WorkspaceSnapshot:
    """A shard with these labels, and this many classes in the client config."""
    counted = (LabelCount("labels.npy", dict.fromkeys(labels, 2)),)
    archive = ArchiveDirectory((ArchiveEntry("labels.npy", 1, 1),), counted)
    return workspace(files=good_files(parameters={"num_classes": num_classes}), shards={"a.zip": archive})


FIRES: list[tuple[Rule, str, WorkspaceSnapshot]] = [
    (folders.required_folders_hold_files, "folder_empty", workspace(files={REQUIREMENTS: None})),
    (sizes.texts_are_small, "text_too_large", workspace(others={"scripts/huge.py": 2_000_000})),
    (sizes.texts_are_small, "text_too_large", workspace(others={"scripts/words.txt": 2_000_000})),
    (model_module.training_module_is_there, "model_def_missing", workspace(files={MODEL: None})),
    (model_module.scripts_are_python, "python_syntax", model("def broken(:\n")),
    (model_module.scripts_are_python, "python_syntax", model("x = 1\0")),
    (model_module.scripts_are_python, "python_syntax", model("if x:\n        a = 1\n\tb = 2\n")),
    (model_module.scripts_are_python, "python_syntax", workspace(files={"scripts/old.py": "print 1"})),
    (model_module.training_names_are_defined, "train_fn_missing", model("class FLModelWrapper: pass")),
    (model_module.training_names_are_defined, "model_class_missing", model("def fl_train_model(p, o): pass")),
    (
        model_module.training_names_are_defined,
        "train_fn_async",
        model("class FLModelWrapper: pass\nasync def fl_train_model(p, o): pass"),
    ),
    (configs.configs_are_json, "config_missing", workspace(files={META: None})),
    (configs.configs_are_json, "config_not_json", workspace(files={META: '{"name": "x",}'})),
    (configs.configs_are_json, "config_not_json", workspace(files={META: b"\xff\xfe\x00"})),
    (configs.configs_are_json, "config_not_object", workspace(files={META: "[]"})),
    (client_config.client_names_an_executor, "executor_missing", workspace(files={CLIENT: "{}"})),
    (client_config.client_names_an_executor, "executor_missing", workspace(files={CLIENT: '{"executors": []}'})),
    (client_config.client_names_an_executor, "config_shape", workspace(files={CLIENT: '{"executors": {}}'})),
    (client_config.client_names_an_executor, "config_path", workspace(files={CLIENT: '{"executor": {"path": 3}}'})),
    (client_config.client_names_an_executor, "config_text", client(lambda args: args.update(train_fn="a-b"))),
    (parameters.parameters_have_usable_names, "parameter_name", client(lambda args: args.update(Job_Id=1))),
    (parameters.parameters_have_usable_names, "parameter_name", client(lambda args: args.update({"my lr": 1}))),
    (parameters.parameters_have_usable_names, "parameter_name", client(lambda args: args.update(BATCH_SIZE=1))),
    (server_config.server_config_is_complete, "workflow_missing", server(lambda s: s.update(workflows=[]))),
    (server_config.server_config_is_complete, "config_number", rounds(0)),
    (server_config.server_config_is_complete, "config_number", rounds("5")),
    (server_config.server_config_is_complete, "config_number", rounds(True)),
    (server_config.server_config_is_complete, "config_shape", server(lambda s: s.update(server=[]))),
    (
        server_config.server_config_is_complete,
        "config_number",
        server(lambda s: s.update(server={"heart_beat_timeout": 0})),
    ),
    (server_config.server_config_is_complete, "component_missing", server(lambda s: s["components"].pop())),
    (server_config.server_config_is_complete, "config_shape", server(lambda s: s["components"].append(3))),
    (
        server_config.server_config_is_complete,
        "config_path",
        server(lambda s: s["components"][0]["args"].update(model={"args": {}})),
    ),
    (
        executor_scripts.named_scripts_are_there,
        "script_missing",
        server(lambda s: s["components"][0].update(path="mine.Persistor")),
    ),
    (
        executor_scripts.named_scripts_are_there,
        "script_supplied",
        workspace(files={"scripts/custom_persistor.py": None}),
    ),
    (
        requirements.requirements_are_there,
        "requirements_missing",
        workspace(files={REQUIREMENTS: None, "requirements/r.txt": ""}),
    ),
    (requirements.requirements_can_be_read, "requirement_unreadable", packages("torch\nnumpy == == 1\n")),
    (requirements.requirements_can_be_read, "requirement_local", packages("-r more.txt")),
    (requirements.requirements_can_be_read, "requirement_local", packages("x @ file:///home/me/x.whl")),
    (requirements.requirements_can_be_read, "requirement_local", packages("./wheels/x.whl")),
    (requirements.requirements_can_be_read, "requirement_option", packages("--pre")),
    (requirements.requirements_can_be_read, "requirements_not_text", packages(b"\xc3\x28")),
    (shards.there_is_a_shard, "no_shards", workspace(shards=["notes.txt"])),
    (shards.shards_are_zips, "shard_stray", workspace(shards=["a.zip", "notes.txt"])),
    (archives.archives_are_readable, "shard_not_zip", broken(Damage.NOT_A_ZIP)),
    (archives.archives_are_readable, "shard_zero_bytes", broken(Damage.ZERO_BYTES)),
    (archives.archives_are_readable, "shard_incomplete", broken(Damage.INCOMPLETE)),
    (archives.archives_are_readable, "shard_directory_too_large", broken(Damage.TOO_LARGE)),
    (archives.archives_hold_files, "shard_empty", shard()),
    (archives.archives_hold_files, "shard_empty", shard(ArchiveEntry("a/", 0, 0), ArchiveEntry("__MACOSX/a/._b", 9, 9))),
    (passwords.archives_are_open, "shard_encrypted", shard(ArchiveEntry("a", 1, 1, encrypted=True))),
    (entry_paths.entries_stay_inside, "shard_unsafe", shard(ArchiveEntry("a/../../b", 1, 1))),
    (entry_paths.entries_stay_inside, "shard_unsafe", shard(ArchiveEntry("/etc/b", 1, 1))),
    (entry_paths.entries_stay_inside, "shard_unsafe", shard(ArchiveEntry("C:\\b", 1, 1))),
    (entry_paths.entries_stay_inside, "shard_unsafe", shard(ArchiveEntry("link", 1, 1, mode=0o120777))),
    (labels.labels_are_below_the_number_of_classes, "label_out_of_range", labelled(3, num_classes=3)),
    (labels.labels_are_below_the_number_of_classes, "label_out_of_range", labelled(-1, num_classes=3)),
    (checkpoint.there_is_at_most_one_checkpoint, "many_checkpoints", workspace(others={"model/a.pt": 1, "model/b.pt": 1})),
    (checkpoint.checkpoint_has_bytes, "checkpoint_empty", workspace(others={"model/a.pt": 0})),
    # The case fl-model-over-2gb: the limit is said before a machine is rented.
    (checkpoint.checkpoint_can_be_carried, "checkpoint_too_large", workspace(others={"model/a.pt": MODEL_LIMIT + 1})),
    (checkpoint.other_model_files_are_unused, "model_file_unused", workspace(others={"model/a.pth": 1})),
]


@pytest.mark.parametrize(("rule", "code", "ws"), FIRES, ids=lambda value: getattr(value, "__name__", None))
def test_a_rule_reports_the_fault_it_is_for(rule: Rule, code: str, ws: WorkspaceSnapshot) -> None:
    assert [finding.code for finding in rule(ws)] == [code]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.__name__))
def test_a_rule_is_silent_on_a_good_workspace(rule: Rule) -> None:
    assert list(rule(workspace(others={"model/checkpoint.pt": 9, "shards/": 0}))) == []


def test_every_rule_has_an_example_that_makes_it_fire() -> None:
    assert {rule for rule, _, _ in FIRES} == set(RULES)


def test_every_rule_module_is_in_the_ordered_list() -> None:
    modules = {f"{rules.__name__}.{module.name}" for module in pkgutil.iter_modules(rules.__path__)}
    assert modules == {rule.__module__ for rule in RULES}


@pytest.mark.parametrize("label", [0, 2, 255, -100])
def test_a_label_of_a_class_or_one_that_losses_pass_over_is_fine(label: int) -> None:
    assert findings(labelled(label, num_classes=3)) == ()


def test_labels_are_not_judged_while_no_number_of_classes_is_known() -> None:
    assert findings(labelled(99, num_classes=0)) == ()


GOOD_MODULES = [
    "import torch\nclass FLModelWrapper: pass\nfrom mine import fl_train_model",
    "from mine import make, train as fl_train_model\nFLModelWrapper = make()",
    "from everything import *",
    "def __getattr__(name): ...",
    "try:\n    from a import FLModelWrapper\nexcept ImportError:\n    FLModelWrapper = None\ndef fl_train_model(p, o): ...",
    "if True:\n    class FLModelWrapper: ...\n    def fl_train_model(p, o): ...",
    "FLModelWrapper, fl_train_model = make()",
    "@decorate\nclass FLModelWrapper: ...\n@decorate\ndef fl_train_model(p, o): ...",
    "FLModelWrapper: type = object\nwith x as fl_train_model: ...",
    "globals().update(load())",
    "\ufeffclass FLModelWrapper: ...\r\ndef fl_train_model(p, o): ...\r\n",
]


@pytest.mark.parametrize("source", GOOD_MODULES)
def test_a_name_bound_in_any_way_at_the_top_level_is_accepted(source: str) -> None:
    assert findings(model(source)) == ()


@pytest.mark.parametrize("source", ["def f():\n    class FLModelWrapper: ...", "class A:\n    FLModelWrapper = 1"])
def test_a_name_bound_inside_a_function_or_class_is_not_there(source: str) -> None:
    codes = {finding.code for finding in findings(model(source + "\ndef fl_train_model(p, o): ..."))}
    assert codes == {"model_class_missing"}


def test_a_misspelled_function_is_answered_with_the_near_one() -> None:
    ws = model("class FLModelWrapper: ...\ndef fl_train_modle(p, o): ...")
    assert [finding.hint for finding in findings(ws)] == ["Did you mean fl_train_modle?"]


def test_a_script_that_no_config_names_only_warns_when_it_is_not_python() -> None:
    ws = workspace(files={"scripts/old.py": "print 1"})
    assert [finding.level for finding in findings(ws)] == [Level.WARNING]


def test_a_syntax_error_says_file_line_and_column() -> None:
    [finding] = findings(model(MODEL_DEF.decode() + "x = (\n"))
    assert (finding.path, finding.line, finding.column) == (MODEL, 7, 5)


def test_a_bad_parameter_is_pointed_at_by_line_and_key() -> None:
    [finding] = findings(client(lambda args: args.update(DEVICE="cuda")))
    assert (finding.path, finding.line, finding.key) == (CLIENT, 19, "executors.0.executor.args.DEVICE")


def test_the_guides_short_client_form_and_its_comments_are_fine() -> None:
    text = """{
      "executor": { // what every worker runs
        "path": "custom_client_executor.GenericClientExecutor",
        "args": {"data_root": "/var/tmp/nvflare/data", /* no change */ "adapter_module": "model_def", "url": "http://a//b"}
      }
    }"""
    assert findings(workspace(files={CLIENT: text})) == ()


def test_a_model_from_an_installed_package_is_not_looked_for_in_scripts() -> None:
    assert findings(server(lambda s: s["components"][0]["args"]["model"].update(path="torchvision.models.Net"))) == ()


REQUIREMENT_LINES = """\
# comment
torch>=2.7.1            # CUDA build comes with the image
numpy>=1.26,<3 ; python_version >= "3.10"
pillow[extra1, extra2]==10.*
scikit-learn
tqdm ; platform_version != "a;b"
mine @ git+https://example.invalid/x.git@main
lib (>=1.0)
pinned==1.0 \\
    --hash=sha256:abc

"""


def test_what_pip_reads_is_accepted() -> None:
    assert findings(packages(REQUIREMENT_LINES)) == ()


def test_requirements_saved_as_utf_16_are_read() -> None:
    assert findings(packages("torch\r\nnumpy==2.0\r\n".encode("utf-16"))) == ()

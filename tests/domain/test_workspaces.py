"""What the wizard writes, the cards, the shards."""

import ast
import json

import pytest
from hypothesis import given

from chalicelib.contracts.report import CardState
from chalicelib.contracts.wizard import Parameter, TrainingStep
from chalicelib.domain.errors import InvalidRequest
from chalicelib.domain.flare_config import read_facts
from chalicelib.domain.validation import findings
from chalicelib.domain.workspaces import can_continue, cards, render, shards
from tests.domain.builders import PREFIX, SCRIPTS, form, good_files, info, workspace
from tests.domain.test_typing_rules import JSON


def starter_values(files: dict[str, bytes]) -> object:
    source = files["scripts/model_def_wrapper_template.py"].decode()
    [line] = [line for line in source.splitlines() if line.startswith("HYPERPARAMETERS = ")]
    return ast.literal_eval(line.removeprefix("HYPERPARAMETERS = "))


def test_exactly_the_tree_of_the_specification_is_written() -> None:
    assert sorted(render(form(), SCRIPTS)) == [
        "configs/config_fed_client.json",
        "configs/config_fed_server.json",
        "configs/meta.json",
        "requirements/requirements.txt",
        "scripts/custom_client_executor.py",
        "scripts/custom_persistor.py",
        "scripts/model_def_wrapper_template.py",
    ]


def test_a_generated_workspace_with_a_model_and_a_shard_has_no_finding() -> None:
    assert findings(workspace(files=dict(good_files(rounds=8)))) == ()


def test_the_form_comes_back_as_the_facts_of_a_launch() -> None:
    facts = read_facts(good_files(rounds=8, wait_for_stragglers_s=3, heartbeat_timeout_s=60, training_timeout_s=9))
    assert (facts.rounds, facts.wait_s, facts.heartbeat_timeout_s, facts.training_timeout_s) == (8, 3, 60, 9)


def test_the_names_of_the_model_step_come_back_as_facts() -> None:
    facts = read_facts(good_files(model_class="nets.small.Net", adapter_module="train", train_fn="go", arguments={"n": 3}))
    assert (facts.model_path, facts.adapter_module, facts.train_fn, facts.model_arguments) == (
        "nets.small.Net",
        "train",
        "go",
        {"n": 3},
    )


@given(JSON)
def test_a_parameter_of_any_json_reaches_config_and_starter_unchanged(value: object) -> None:
    files = good_files(parameters={"z": [value], "a": 10**40, "lr": 3.0})
    expected = repr({"z": [value], "a": 10**40, "lr": 3.0})
    assert repr(read_facts(files).parameters) == expected
    assert repr(starter_values(files)) == expected


def test_an_object_that_nvflare_would_build_is_marked_as_plain() -> None:
    facts = read_facts(good_files(parameters={"optimizer": {"name": "adam"}}))
    assert facts.parameters == {"optimizer": {"name": "adam", "config_type": "dict"}}


def test_the_clean_name_is_the_jobs_name() -> None:
    assert json.loads(good_files(name="  Food 101 ")["configs/meta.json"])["name"] == "food-101"


def test_a_name_without_letters_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        render(form(name="---"), SCRIPTS)


def test_a_parameter_of_the_platform_is_refused() -> None:
    bad = form().model_copy(update={"training": TrainingStep(parameters=(Parameter(name="out_dir_name", value=1),))})
    with pytest.raises(InvalidRequest):
        render(bad, SCRIPTS)


def test_a_starter_without_its_line_is_an_error_and_not_a_silent_default() -> None:
    with pytest.raises(ValueError, match="HYPERPARAMETERS"):
        render(form(), {**SCRIPTS, "model_def_starter.py": "x = 1\n"})


def test_only_zips_count_as_shards_and_markers_count_as_nothing() -> None:
    listed = [info("shards/a.zip", 5), info("shards/n.txt"), info("shards/", 0), info("shards/B.ZIP", 7), info("model/", 0)]
    by_folder = {card.folder: (card.state, card.count, card.size) for card in cards(listed, PREFIX)}
    assert by_folder["shards"] == (CardState.READY, 2, 12)
    assert by_folder["model"] == (CardState.EMPTY, 0, 0)


def test_the_cards_are_titled_and_ordered_as_in_the_specification() -> None:
    titles = [card.title for card in cards([], PREFIX)]
    assert titles == ["Scripts", "Configs", "Requirements", "Dataset Shards", "Base Model"]


def test_the_launch_page_opens_when_the_four_folders_hold_a_file() -> None:
    listed = [info(path) for path in ("scripts/a.py", "configs/a.json", "requirements/r.txt", "shards/a.zip")]
    assert can_continue(cards(listed, PREFIX))


@pytest.mark.parametrize("folder", ["scripts", "configs", "requirements", "shards"])
def test_the_launch_page_stays_shut_while_a_required_folder_is_empty(folder: str) -> None:
    paths = ["scripts/a.py", "configs/a.json", "requirements/r.txt", "shards/a.zip"]
    listed = [info(path) for path in paths if not path.startswith(folder)]
    assert not can_continue(cards(listed, PREFIX))


def test_shards_come_in_natural_order() -> None:
    listed = [info(f"shards/shard_{n}.zip") for n in (10, 9, 1)]
    assert [item.key[len(PREFIX) :] for item in shards(listed, PREFIX)] == [
        "shards/shard_1.zip",
        "shards/shard_9.zip",
        "shards/shard_10.zip",
    ]


def test_another_workspace_of_a_longer_name_is_not_counted() -> None:
    other = info("shards/a.zip").model_copy(update={"key": "jobs/demo-2/shards/a.zip"})
    assert shards([other], PREFIX) == []

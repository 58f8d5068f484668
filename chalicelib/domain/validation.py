"""Everything validation knows, in the order in which a report lists it."""

from collections.abc import Callable, Iterator

from chalicelib.contracts.report import Finding
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

Rule = Callable[[WorkspaceSnapshot], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    folders.required_folders_hold_files,
    sizes.texts_are_small,
    model_module.training_module_is_there,
    model_module.scripts_are_python,
    model_module.training_names_are_defined,
    configs.configs_are_json,
    client_config.client_names_an_executor,
    parameters.parameters_have_usable_names,
    server_config.server_config_is_complete,
    executor_scripts.named_scripts_are_there,
    requirements.requirements_are_there,
    requirements.requirements_can_be_read,
    shards.there_is_a_shard,
    shards.shards_are_zips,
    archives.archives_are_readable,
    archives.archives_hold_files,
    passwords.archives_are_open,
    entry_paths.entries_stay_inside,
    labels.labels_are_below_the_number_of_classes,
    checkpoint.there_is_at_most_one_checkpoint,
    checkpoint.checkpoint_has_bytes,
    checkpoint.checkpoint_can_be_carried,
    checkpoint.other_model_files_are_unused,
)


def findings(ws: WorkspaceSnapshot) -> tuple[Finding, ...]:
    """What every rule finds, in the order of RULES; the same snapshot gives the same findings."""
    return tuple(finding for rule in RULES for finding in rule(ws))

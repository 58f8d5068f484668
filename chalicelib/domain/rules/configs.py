"""The three configs: there, and JSON."""

from collections.abc import Iterator

from chalicelib.contracts.report import Finding
from chalicelib.domain.configs import Config
from chalicelib.domain.errors import BadConfig, BadJson
from chalicelib.domain.findings import from_error
from chalicelib.domain.snapshot import CONFIGS, WorkspaceSnapshot


def configs_are_json(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """Each config is there and reads as an object; ``//`` and ``/* */`` comments are fine."""
    for name in CONFIGS:
        if f"configs/{name}" in ws.unread:
            continue
        try:
            Config.read(ws.texts, name)
        except BadConfig as problem:
            yield from_error(problem)
        except BadJson as problem:
            yield from_error(problem, "config_not_json")

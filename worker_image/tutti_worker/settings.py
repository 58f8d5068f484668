"""The environment a backend starts a worker with."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class SettingMissing(Exception):
    """A variable the worker cannot start without is not set."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not set; a backend starts a worker with TUTTI_API, TUTTI_CODE and TUTTI_WORK")


@dataclass(frozen=True)
class Settings:
    """What the worker was told at its start; read once."""

    api: str
    code: str
    work: Path
    """An empty folder of its own; stays the caller's."""
    host: str
    """The address this worker binds and advertises."""
    port: int = 0
    """The FL port of a server; 0 takes a free one."""
    nursery: Path | None = None
    """The socket of this machine's nursery, which lends warm processes."""
    api_patience_s: float = 600.0
    """How long an unreachable API is retried before the worker gives up."""


def read_settings(environ: Mapping[str, str]) -> Settings:
    """The settings of this worker; raises SettingMissing."""
    return Settings(
        api=_required(environ, "TUTTI_API").rstrip("/"),
        code=_required(environ, "TUTTI_CODE"),
        work=Path(_required(environ, "TUTTI_WORK")).resolve(),
        host=environ.get("TUTTI_HOST", "127.0.0.1"),
        port=int(environ.get("TUTTI_PORT", "0")),
        nursery=Path(environ["TUTTI_NURSERY"]) if environ.get("TUTTI_NURSERY") else None,
        api_patience_s=float(environ.get("TUTTI_API_PATIENCE", "600")),
    )


def forget_secrets() -> None:
    """Take the one-time code out of this process's environment, so that nothing started later inherits it."""
    os.environ.pop("TUTTI_CODE", None)


def _required(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "")
    if not value:
        raise SettingMissing(name)
    return value

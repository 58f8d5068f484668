"""The environment as one frozen object; the only reader of os.environ."""

import os
from collections.abc import Mapping

from pydantic import Field

from chalicelib.contracts.base import Strict


class Settings(Strict):
    """Everything an installation can choose. Times in seconds."""

    region: str = "us-east-1"
    platform_bucket: str = Field(min_length=3, max_length=63)
    bucket_prefix: str = Field(default="tutti-", max_length=30)
    """User buckets are called ``<prefix><16 hex digits>``."""
    origins: tuple[str, ...] = ()
    """Where the console is served from: what a user bucket's CORS lets in."""
    issuer: str = ""
    client_ids: tuple[str, ...] = ("console", "cli")
    start_deadline_s: int = Field(default=900, ge=10)
    heartbeat_s: float = Field(default=10.0, gt=0)
    worker_poll_ms: int = Field(default=1000, ge=100)
    stuck_after_s: float = Field(default=600.0, gt=0)
    """After how long without progress a worker that lives is warned about; it is never ended for that."""
    worker_memory: int | None = Field(default=None, ge=1)
    """Bytes one worker may hold before its training is ended as out of memory; None: as much as its machine has."""
    url_expiry_s: int = Field(default=3600, ge=60)
    shared_cores: int | None = Field(default=None, ge=1)
    """The cores all workers share when they run on one machine; None when each has a machine of its own."""

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ, **fixed: object) -> "Settings":
        """What the environment chooses; a missing or wrong one raises a ValidationError that names it. ``fixed`` are those that
        this installation does not leave to choose."""
        given = {name: environ[f"TUTTI_{name.upper()}"] for name in cls.model_fields if f"TUTTI_{name.upper()}" in environ}
        lists = {name: tuple(filter(None, given[name].split(","))) for name in ("origins", "client_ids") if name in given}
        return cls.model_validate({**given, **lists, **fixed})

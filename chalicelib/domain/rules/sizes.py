"""Texts that are too long to be what they should be."""

from collections.abc import Iterator

from chalicelib.contracts.report import Finding
from chalicelib.domain.findings import error, warning
from chalicelib.domain.snapshot import WorkspaceSnapshot


def texts_are_small(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """Scripts, configs and requirements of over 1 MB are not read, so they would reach no worker."""
    hint = "Keep scripts and configs under 1 MB each and at most 500 files; put data into the shards."
    for path in ws.unread:
        message = f"{path} is too large, or one file too many: it will reach no worker"
        needed = path.endswith(".py") or not path.startswith("scripts/")
        yield (error if needed else warning)("text_too_large", message, path=path, hint=hint)

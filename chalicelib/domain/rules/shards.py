"""The folder shards/: one zip for each worker."""

from collections.abc import Iterator

from chalicelib.contracts.report import Finding
from chalicelib.domain.findings import error, warning
from chalicelib.domain.snapshot import WorkspaceSnapshot
from chalicelib.domain.workspaces import is_shard


def there_is_a_shard(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """The number of zips is the number of workers, so a job needs at least one."""
    if not ws.shards:
        hint = "Split your data into one .zip per worker and upload them into shards/."
        yield error("no_shards", "the folder shards/ holds no .zip", path="shards/", hint=hint)


def shards_are_zips(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """A worker unpacks exactly one zip, so any other file in shards/ is left unused."""
    for item in ws.folder("shards"):
        if not is_shard(item.key):
            path = ws.path(item)
            yield warning("shard_stray", f"{path} is not a .zip and will reach no worker", path=path)

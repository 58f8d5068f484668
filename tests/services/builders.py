"""Workspaces in a bucket, for tests of the services."""

from collections.abc import Mapping

from tests.domain.builders import PREFIX, good_files, zip_bytes
from tests.fakes import MemoryObjectStore

BUCKET = "tutti-user"


def stored_workspace(
    *, shards: Mapping[str, bytes] | None = None, others: Mapping[str, bytes] | None = None
) -> MemoryObjectStore:
    """A store with one good workspace ``demo``, these shards in place of three good ones, and these other files."""
    objects = MemoryObjectStore()
    objects.create_bucket(BUCKET, origins=())
    zips = shards if shards is not None else {f"shard_{n}.zip": zip_bytes("images/a.png") for n in range(3)}
    files = {**good_files(), **{f"shards/{name}": data for name, data in zips.items()}, **(others or {})}
    for path, data in files.items():
        objects.put(BUCKET, PREFIX + path, data)
    objects.requests.clear()
    return objects

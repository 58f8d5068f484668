"""Shards locked with a password."""

from collections.abc import Iterator

from chalicelib.contracts.report import Finding
from chalicelib.domain.archives import ArchiveDirectory
from chalicelib.domain.findings import error
from chalicelib.domain.snapshot import WorkspaceSnapshot


def archives_are_open(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """Nobody can type a password on a worker; one finding an archive, naming its first locked file."""
    for path, archive in ws.archives.items():
        locked = [e.name for e in archive.files if e.encrypted] if isinstance(archive, ArchiveDirectory) else []
        if locked:
            message = f"{path} is locked with a password ({len(locked)} files)"
            yield error("shard_encrypted", message, path=path, entry=locked[0], hint="Pack it without a password.")

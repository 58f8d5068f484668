"""Names inside shards that point outside the data folder."""

import re
from collections.abc import Iterator

from chalicelib.contracts.report import Finding
from chalicelib.domain.archives import ArchiveDirectory, ArchiveEntry
from chalicelib.domain.findings import error
from chalicelib.domain.snapshot import WorkspaceSnapshot

_LINK = 0o120000
_KIND = 0o170000


def entries_stay_inside(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """An absolute name, a ``..`` or a link would leave the data folder, so no worker unpacks it; one finding an archive."""
    for path, archive in ws.archives.items():
        bad = [e.name for e in archive.entries if _leaves(e)] if isinstance(archive, ArchiveDirectory) else []
        if bad:
            message = f"{path} holds {len(bad)} names that point outside the data folder, first {bad[0]!r}"
            yield error("shard_unsafe", message, path=path, entry=bad[0], hint="Pack plain files by relative names.")


def _leaves(entry: ArchiveEntry) -> bool:
    parts = re.split(r"[/\\]", entry.name)
    return ".." in parts or parts[0] == "" or bool(re.match(r"[A-Za-z]:", parts[0])) or (entry.mode & _KIND) == _LINK

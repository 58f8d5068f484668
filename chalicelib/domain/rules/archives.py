"""Each shard as a zip archive."""

from collections.abc import Iterator

from chalicelib.contracts.report import Finding
from chalicelib.domain.archives import ArchiveDirectory, Damage, Unreadable
from chalicelib.domain.findings import error
from chalicelib.domain.snapshot import WorkspaceSnapshot

_SAYS = {
    Damage.ZERO_BYTES: "{path} has zero bytes",
    Damage.NOT_A_ZIP: "{path} is not a zip archive",
    Damage.INCOMPLETE: "{path} begins like a zip and has no directory at its end: it is incomplete",
    Damage.TOO_LARGE: "{path} has a directory of over 64 MB: too many files for one shard",
}
_HINTS = {
    Damage.ZERO_BYTES: "Upload it again.",
    Damage.NOT_A_ZIP: "Pack the data as .zip and upload it again.",
    Damage.INCOMPLETE: "Upload it again.",
    Damage.TOO_LARGE: "Pack the small files into fewer larger ones, or split the shard.",
}


def archives_are_readable(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """A worker that cannot open its shard cannot train."""
    for path, archive in ws.archives.items():
        if isinstance(archive, Unreadable):
            looks = f"; it looks like {archive.looks_like}" if archive.looks_like else ""
            message = _SAYS[archive.damage].format(path=path) + looks
            yield error(archive.damage.value, message, path=path, hint=_HINTS[archive.damage])


def archives_hold_files(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """A shard without a file gives its worker nothing to train on; what operating systems leave behind does not count."""
    for path, archive in ws.archives.items():
        if isinstance(archive, ArchiveDirectory) and not archive.files:
            junk = " but folders and what the operating system adds" if archive.entries else ""
            message = f"{path} holds no file{junk}"
            yield error("shard_empty", message, path=path, hint="Pack the data itself, e.g. images/ and labels/.")

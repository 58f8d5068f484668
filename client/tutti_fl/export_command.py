"""``tutti export``: a workspace's folder as a job for any NVFLARE federation. Nobody needs to be signed in."""

import argparse
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tutti_fl.errors import TuttiError
from tutti_fl.export import EVERY_SITE, Exported, export_job
from tutti_fl.outcome import ExitCode
from tutti_fl.terminal import Terminal
from tutti_fl.words import counted

REQUIREMENTS = Path("requirements/requirements.txt")


def export(args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """A folder to a folder that NVFLARE accepts."""
    out = args.out or Path(f"{args.folder.resolve().name}-nvflare")
    exported = export_job(args.folder, out, data_roots_of(args.data_root))
    terminal.say(*_lines(exported, args.folder))
    return ExitCode.FINISHED


def data_roots_of(typed: list[str]) -> dict[str, str]:
    """``PATH`` for all sites or ``SITE=PATH`` for each, as typed; TuttiError ``usage`` for anything else."""
    roots: dict[str, str] = {}
    for text in typed:
        site, equals, path = text.partition("=")
        if not equals or "/" in site:
            site, path = EVERY_SITE, text
        if not PurePosixPath(path).is_absolute():
            raise TuttiError("usage", f"--data-root {text}: the path must begin with /, as jobs run in folders of their own")
        if not site or site in roots:
            raise TuttiError("usage", f"--data-root {text}: one path for all sites, or one SITE=PATH for each")
        roots[site] = path
    if EVERY_SITE in roots and len(roots) > 1:
        raise TuttiError("usage", "--data-root: one path for all sites, or one SITE=PATH for each")
    return roots


def _lines(exported: Exported, folder: Path) -> Iterator[str]:
    yield from exported.differences
    start = f", and {exported.checkpoint} to start from" if exported.checkpoint else ""
    yield f"{exported.out} is an NVFLARE job: {counted(exported.scripts, 'script')} byte for byte{start}."
    for site, data_root in exported.data_roots.items():
        who = "Every site" if site == EVERY_SITE else site
        yield f"  {who} finds its unpacked shard in {data_root or 'the folder that its executor names'}"
    if (folder / REQUIREMENTS).is_file():
        yield f"  Every machine needs: pip install -r {folder / REQUIREMENTS}"
    yield f"  Submit it: nvflare job submit -j {exported.out}"

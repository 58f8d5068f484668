"""``tutti fetch``: a folder of the bucket onto this disk."""

import argparse
from functools import partial
from pathlib import Path, PurePosixPath

from tutti_fl.client import Client
from tutti_fl.downloads import download
from tutti_fl.errors import TuttiError
from tutti_fl.lanes import Lanes
from tutti_fl.outcome import ExitCode
from tutti_fl.shapes.files import ObjectInfo
from tutti_fl.terminal import Terminal
from tutti_fl.words import counted

AT_ONCE = 4


def fetch(args: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Every file under the prefix. What is there with the right size is not fetched again."""
    prefix = f"{args.prefix.strip('/')}/" if args.prefix.strip("/") else ""
    with terminal.client() as client:
        objects = [item for item in client.files.list(prefix) if not item.key.endswith("/")]
        if not objects:
            raise TuttiError("no_files", f"your bucket holds nothing under {prefix}", "The Files page shows what there is.")
        places = {item.key: _place(item, prefix, args.out) for item in objects}
        wanted = [item for item in objects if not _is_there(item, places[item.key])]
        Lanes(AT_ONCE).run([partial(_fetch, client, item.key, places[item.key]) for item in wanted])
    had = f", {len(objects) - len(wanted)} of them were there" if len(wanted) < len(objects) else ""
    terminal.say(f"{counted(len(objects), 'file')} in {args.out}{had}")
    return ExitCode.FINISHED


def _place(item: ObjectInfo, prefix: str, out: Path) -> Path:
    inside = PurePosixPath(item.key.removeprefix(prefix))
    if inside.is_absolute() or ".." in inside.parts:
        raise TuttiError("odd_key", f"{item.key} would be written outside of {out}", "Rename it in the bucket.")
    return out / inside


def _is_there(item: ObjectInfo, place: Path) -> bool:
    return place.is_file() and place.stat().st_size == item.size and place.stat().st_mtime >= item.modified.timestamp()


def _fetch(client: Client, key: str, place: Path) -> None:
    download(partial(client.files.sign, key), place)

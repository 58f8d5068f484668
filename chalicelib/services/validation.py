"""A check of a workspace: list, read, judge, keep the report if it is still the newest."""

from collections.abc import Iterator
from itertools import islice

from chalicelib.contracts.files import ObjectInfo
from chalicelib.contracts.report import Report
from chalicelib.domain import object_keys
from chalicelib.domain.archives import ArchiveDirectory, Unreadable
from chalicelib.domain.errors import ObjectNotFound
from chalicelib.domain.snapshot import LARGEST_TEXT, WorkspaceSnapshot, is_text
from chalicelib.domain.validation import findings
from chalicelib.domain.workspaces import cards, shards
from chalicelib.ports import Clock, ObjectStore, ReportStore
from chalicelib.services.archives import read_directory
from chalicelib.services.listing import inputs

MOST_TEXTS = 500
"""Scripts beyond so many are not read; a finding says so."""


def check(owner: str, workspace: str, *, bucket: str, objects: ObjectStore, reports: ReportStore, clock: Clock) -> Report:
    """The report on the workspace as it is now; it is stored unless a later check has stored its own."""
    return check_now(owner, workspace, bucket=bucket, objects=objects, reports=reports, clock=clock)[1]


def check_now(
    owner: str, workspace: str, *, bucket: str, objects: ObjectStore, reports: ReportStore, clock: Clock
) -> tuple[WorkspaceSnapshot, Report]:
    """As check, with the very snapshot that was judged."""
    counter = reports.next_counter(owner, workspace)
    ws = snapshot(workspace, bucket=bucket, objects=objects)
    report = Report(
        workspace=workspace,
        counter=counter,
        at=clock.now(),
        findings=findings(ws),
        cards=cards(ws.objects, ws.prefix),
        workers=len(ws.shards),
    )
    reports.store(owner, report)
    return ws, report


def snapshot(workspace: str, *, bucket: str, objects: ObjectStore) -> WorkspaceSnapshot:
    """The five input folders listed, their small texts and the directories of their shards read. What is deleted meanwhile
    is left out; an empty or absent folder is no error."""
    prefix = object_keys.workspace(workspace)
    listed = list(inputs(bucket, prefix, objects=objects))
    texts, archives, gone = dict[str, bytes](), dict[str, ArchiveDirectory | Unreadable](), set[str]()
    for item in (*islice(_small_texts(listed, prefix), MOST_TEXTS), *shards(listed, prefix)):
        path = item.key.removeprefix(prefix)
        try:
            if is_text(path):
                texts[path] = objects.read(bucket, item.key, version=item.version) if item.size else b""
            else:
                archives[path] = read_directory(objects, bucket, item)
        except ObjectNotFound:
            gone.add(item.key)
    there = tuple(item for item in listed if item.key not in gone)
    return WorkspaceSnapshot(workspace, prefix, there, texts, archives)


def _small_texts(listed: list[ObjectInfo], prefix: str) -> Iterator[ObjectInfo]:
    """Configs and requirements first, so that no number of scripts keeps them from being read."""
    wanted = [item for item in listed if is_text(item.key.removeprefix(prefix))]
    wanted.sort(key=lambda item: item.key.startswith(f"{prefix}scripts/"))
    return (item for item in wanted if item.size <= LARGEST_TEXT)

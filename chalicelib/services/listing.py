"""Whole listings, page after page."""

from collections.abc import Iterator

from chalicelib.contracts.files import ObjectInfo
from chalicelib.contracts.workspace import INPUT_FOLDERS
from chalicelib.ports import ObjectStore

_FIRST_LOOK = 200
"""A workspace with no more objects than this, outputs and all, is listed in one call in place of five."""


def every_object(bucket: str, prefix: str, *, objects: ObjectStore) -> Iterator[ObjectInfo]:
    """All objects under a prefix, in key order."""
    cursor: str | None = None
    while True:
        page = objects.list(bucket, prefix, cursor=cursor)
        yield from page.objects
        cursor = page.cursor
        if cursor is None:
            return


def inputs(bucket: str, prefix: str, *, objects: ObjectStore) -> Iterator[ObjectInfo]:
    """All objects of a workspace's five input folders, folder by folder; logs and models are not read through."""
    first = objects.list(bucket, prefix, limit=_FIRST_LOOK)
    for folder in INPUT_FOLDERS:
        whole = first.objects if first.cursor is None else every_object(bucket, f"{prefix}{folder}/", objects=objects)
        yield from (item for item in whole if item.key.startswith(f"{prefix}{folder}/"))

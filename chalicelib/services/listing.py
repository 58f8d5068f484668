"""Whole listings, page after page."""

from collections.abc import Iterator

from chalicelib.contracts.files import ObjectInfo
from chalicelib.contracts.workspace import INPUT_FOLDERS
from chalicelib.ports import ObjectStore


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
    """All objects of a workspace's five input folders; logs and models are not read through."""
    for folder in INPUT_FOLDERS:
        yield from every_object(bucket, f"{prefix}{folder}/", objects=objects)

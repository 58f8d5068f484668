"""What S3's own notifications say, however they are wrapped, in the terms of keys.

EventBridge spells a key as it is; a notification spells it as a form does, so there it is decoded, once.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote_plus

from chalicelib.domain import object_keys

Place = tuple[str, str]
"""Bucket and key, the key as its user wrote it."""

_CHANGES = ("ObjectCreated:", "ObjectRemoved:", "s3:ObjectCreated:", "s3:ObjectRemoved:")


def notified(event: Mapping[str, Any]) -> Iterator[Place]:
    """The objects that a notification says were created or removed; SQS and SNS wrappers are taken off. None for a test message,
    an empty list, or anything else that is no notification."""
    for record in _rows(event):
        inner = record.get("body") or _mapping(record.get("Sns")).get("Message")
        if inner is not None:
            yield from notified(_unwrapped(inner))
        elif str(record.get("eventName", "")).startswith(_CHANGES):
            yield record["s3"]["bucket"]["name"], unquote_plus(record["s3"]["object"]["key"])


def newest_of_each_workspace(places: Iterable[Place]) -> list[Place]:
    """One place for each workspace of which an input changed, the last named: one check sees the whole folder."""
    newest: dict[Place, Place] = {}
    for bucket, key in places:
        found = object_keys.workspace_of(key)
        if found is not None and object_keys.is_input(found[1]):
            newest[bucket, found[0]] = (bucket, key)
    return list(newest.values())


def _rows(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    rows = event.get("Records")
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _unwrapped(text: object) -> Mapping[str, Any]:
    """The message in a queue's body; a topic in front of the queue has wrapped it once more."""
    try:
        message = _mapping(json.loads(str(text)))
    except ValueError:
        return {}
    return _unwrapped(message["Message"]) if message.get("Type") == "Notification" and "Message" in message else message


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}

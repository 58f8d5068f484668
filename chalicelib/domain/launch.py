"""What is frozen when a job is launched."""

import math
import re
from collections.abc import Iterable

from chalicelib.contracts.base import Lenient
from chalicelib.contracts.files import ObjectInfo
from chalicelib.contracts.job import Checkpoint, Shard


class LaunchRecord(Lenient):
    """The shards in site order and the base checkpoint, each with the bytes it stands for."""

    shards: tuple[Shard, ...]
    checkpoint: Checkpoint | None = None


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts ``shard_2.zip`` before ``shard_10.zip``."""
    pieces = re.findall(r"\d+|\D+", name)
    return tuple((0, int(piece), piece) if piece.isdecimal() else (1, 0, piece) for piece in pieces)


def freeze_shards(shards: Iterable[ObjectInfo]) -> tuple[Shard, ...]:
    """``site-1 … site-N`` for the shards in the order given."""
    return tuple(
        Shard(
            site=f"site-{number}",
            name=item.key.rsplit("/", 1)[-1],
            key=item.key,
            size=item.size,
            etag=item.etag,
            version=item.version,
        )
        for number, item in enumerate(shards, start=1)
    )


_LONGEST_HEARTBEAT_S = 10_000_000


def heartbeat_limit(asked_s: int, workers: int, heartbeat_s: float) -> int:
    """How long a worker may be silent: what the config asks, but at least three of the beats that so many workers are told to
    make, and 30 s; at most what the state machine can count."""
    return min(max(asked_s, 30, math.ceil(3 * max(heartbeat_s, workers * 0.02))), _LONGEST_HEARTBEAT_S)

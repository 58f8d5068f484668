"""Cuts scikit-learn's digits into three shards that each know some digits well and the others hardly, and a held-out set.

    python examples/digits/make_shards.py [FOLDER]      writes FOLDER/shards/shard_{0,1,2}.zip and FOLDER/held_out.npz

The same files every time, byte for byte.
"""

import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

OWN_DIGITS = ((0, 1, 2, 3), (4, 5, 6), (7, 8, 9))
"""Which digits mostly live in which shard."""
MIXED = 0.1
"""This share of all images is dealt out whatever the digit, so nobody has never seen a 7."""
HELD_OUT = 0.2

Digits = tuple[np.ndarray, np.ndarray]


def make_shards(folder: Path) -> tuple[list[Path], Path]:
    """Write the shards and the held-out set; the paths of both."""
    held_out, shards = cut()
    (folder / "shards").mkdir(parents=True, exist_ok=True)
    paths = []
    for number, shard in enumerate(shards):
        paths.append(folder / "shards" / f"shard_{number}.zip")
        paths[-1].write_bytes(zipped("digits.npz", packed(*shard)))
    (folder / "held_out.npz").write_bytes(packed(*held_out))
    return paths, folder / "held_out.npz"


def cut() -> tuple[Digits, list[Digits]]:
    """The held-out set, and the shards."""
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8).astype(np.uint8)
    order = np.random.default_rng(7).permutation(len(labels))
    held, rest = np.split(order, [round(len(labels) * HELD_OUT)])
    parts = ([*indices] for indices in deal(rest, labels))
    return (images[held], labels[held]), [(images[part], labels[part]) for part in parts]


def deal(indices: np.ndarray, labels: np.ndarray) -> Iterator[np.ndarray]:
    """Per shard its images: all of its own digits but the mixed tenth, and an equal share of that tenth."""
    mixed, own = np.split(indices, [round(len(indices) * MIXED)])
    for digits, share in zip(OWN_DIGITS, np.array_split(mixed, len(OWN_DIGITS)), strict=True):
        mine = np.concatenate([own[np.isin(labels[own], digits)], share])
        yield np.random.default_rng(7).permutation(mine)


def packed(images: np.ndarray, labels: np.ndarray) -> bytes:
    """Both arrays as one .npz."""
    buffer = io.BytesIO()
    np.savez(buffer, images=images, labels=labels.astype(np.uint8))
    return buffer.getvalue()


def zipped(name: str, content: bytes) -> bytes:
    """A zip of one file at its top level, without a date of today in it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), content, compress_type=zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


if __name__ == "__main__":
    home = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for path in make_shards(home)[0]:
        print(path)

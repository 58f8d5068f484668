"""Draws discs and squares for three workers, and pictures nobody trains on.

    python examples/shapes/make_shards.py [FOLDER]      writes FOLDER/shards/shard_{0,1,2}.zip and FOLDER/held_out/

The same files every time, byte for byte.
"""

import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

SHARDS = ((32, 1.0), (20, 1.0), (12, 0.6))
"""How many pictures a worker has, and how bright its camera is."""
HELD_OUT = 16
SIZE = 32
COLOURS = np.array([[90, 90, 90], [180, 80, 80], [80, 80, 180]])
"""The ground, discs, squares."""

Files = dict[str, bytes]


def make_shards(folder: Path) -> tuple[list[Path], Path]:
    """Write the shards and the held-out pictures; the paths of both."""
    chance = np.random.default_rng(11)
    (folder / "shards").mkdir(parents=True, exist_ok=True)
    paths = []
    for number, (count, light) in enumerate(SHARDS):
        paths.append(folder / "shards" / f"shard_{number}.zip")
        paths[-1].write_bytes(zipped(dict(pictures(chance, [light] * count))))
    for name, content in pictures(chance, [0.6 if number % 4 == 3 else 1.0 for number in range(HELD_OUT)]):
        path = folder / "held_out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return paths, folder / "held_out"


def pictures(chance: np.random.Generator, lights: list[float]) -> Iterator[tuple[str, bytes]]:
    """Name and content of so many pictures and their labels."""
    for number, light in enumerate(lights):
        image, label = picture(chance, light)
        yield f"images/picture_{number:02}.png", png(image)
        yield f"labels/picture_{number:02}.png", png(label)


def picture(chance: np.random.Generator, light: float) -> tuple[np.ndarray, np.ndarray]:
    """A disc and a square, which may hide a part of it, in the noise of a bad camera; and what each pixel shows."""
    y, x = np.mgrid[:SIZE, :SIZE]
    label = np.zeros((SIZE, SIZE), np.uint8)
    row, column, radius = *chance.integers(8, 24, 2), chance.integers(4, 8)
    label[(y - row) ** 2 + (x - column) ** 2 <= radius**2] = 1
    top, left, side = *chance.integers(0, 20, 2), chance.integers(6, 12)
    label[top : top + side, left : left + side] = 2
    image = light * COLOURS[label] + chance.normal(0, 22, (SIZE, SIZE, 3))
    return image.clip(0, 255).astype(np.uint8), label


def png(pixels: np.ndarray) -> bytes:
    """The pixels as a PNG file."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def zipped(files: Files) -> bytes:
    """A zip with images/ and labels/ at its top level, without a date of today in it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


if __name__ == "__main__":
    home = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for path in make_shards(home)[0]:
        print(path)

"""Workspaces in the dialects of tests/vectors/dialects, with two small shards."""

import io
import shutil
import zipfile
from pathlib import Path

import numpy as np

from chalicelib.domain.workspaces import render
from chalicelib.job_scripts.sources import sources
from tests.domain.builders import form

DIALECTS = Path(__file__).parents[1] / "vectors" / "dialects"
IMAGES = (10, 6)
"""How many images each shard has."""


def dialect_folder(name: str, root: Path, **generated: object) -> Path:
    """The workspace as its user has it; what the dialect does not bring is what the wizard generates."""
    for path, text in render(form(**generated), sources()).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    shutil.copytree(DIALECTS / name, root, dirs_exist_ok=True)
    (root / "shards").mkdir()
    for number, count in enumerate(IMAGES):
        (root / "shards" / f"shard_{number}.zip").write_bytes(images_zip(number, count))
    return root


def images_zip(seed: int, count: int) -> bytes:
    """A shard of images of 8 × 8 and labels that tell their dark, grey and bright pixels apart."""
    chance, buffer = np.random.default_rng(seed), io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(count):
            image = chance.uniform(size=(1, 8, 8)).astype(np.float32)
            archive.writestr(f"images/{number}.npy", as_npy(image))
            archive.writestr(f"labels/{number}.npy", as_npy((image[0] * 3).astype(np.int64)))
    return buffer.getvalue()


def as_npy(array: np.ndarray) -> bytes:
    """The array as a .npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()

"""The updates of a round on disk."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import safe_open
from safetensors.torch import save_file

T = TypeVar("T")
PAIRS = "pairs"
"""The file's note of the tensors whose last dimension is real and imaginary part."""


class UpdateStore:
    """Keeps one file of tensors per site for one round, and no other round's."""

    def __init__(self, folder: Path, round: int) -> None:
        self._all, self._folder = folder, folder / f"round_{round}"

    def put(self, site: str, tensors: Mapping[str, torch.Tensor | None]) -> None:
        """Store a site's update whole or not at all, in a round that was made ready."""
        path = self.path(site)
        part = path.with_suffix(".part")
        try:
            there = {name: tensor for name, tensor in tensors.items() if tensor is not None}
            pairs = [name for name, tensor in there.items() if tensor.is_complex()]
            # The file format knows not every complex type; their real and imaginary parts it does.
            real = {name: torch.view_as_real(tensor) if name in pairs else tensor for name, tensor in there.items()}
            save_file(_apart(real), part, {PAIRS: json.dumps(pairs)})
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    @contextmanager
    def opened(self, site: str) -> Iterator["StoredUpdate"]:
        """A site's update for reading, mapped from its file and not loaded."""
        with safe_open(self.path(site), framework="pt") as file:
            yield StoredUpdate(file)

    def path(self, site: str) -> Path:
        """Where a site's update lies, or would."""
        return self._folder / f"{site}.safetensors"

    def make_ready(self) -> None:
        """Drop other rounds' updates, so that a disk holds one round."""
        if self._folder.is_dir():
            return
        shutil.rmtree(self._all, ignore_errors=True)
        self._folder.mkdir(parents=True)


class StoredUpdate:
    """One site's update as it was put."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._pairs = set(json.loads((file.metadata() or {}).get(PAIRS, "[]")))

    @property
    def names(self) -> list[str]:
        """The names of its tensors."""
        return list(self._file.keys())

    def tensor(self, name: str) -> torch.Tensor:
        """One of its tensors; the memory is the file's, so it is lent until the update is closed."""
        tensor: torch.Tensor = self._file.get_tensor(name)
        return torch.view_as_complex(tensor) if name in self._pairs else tensor


def by_site(entries: Mapping[str, T]) -> dict[str, T]:
    """The same entries in the natural order of the sites' names: site-2 before site-10."""
    return dict(sorted(entries.items(), key=lambda item: _natural(item[0])))


def _natural(site: str) -> list[tuple[int, int, str]]:
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", site) if part]


def _apart(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    # The file format refuses two names for one memory, as tied weights have.
    seen: set[int] = set()
    apart: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        place = tensor.untyped_storage().data_ptr()
        apart[name] = tensor.clone() if place in seen else tensor.contiguous()
        seen.add(place)
    return apart

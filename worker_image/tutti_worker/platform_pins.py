"""The packages the worker and NVFLARE themselves stand on; a job brings no other version of them."""

import importlib.metadata
from collections.abc import Iterable, Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PINNED = ("nvflare", "torch")
"""Refused by name before anything is fetched; of all others the installer says who wants another version."""
_ROOTS = (*PINNED, "cryptography", "httpx", "msgpack", "numpy", "packaging", "psutil", "pydantic", "safetensors")


def platform_versions(roots: Iterable[str] = _ROOTS) -> dict[str, str]:
    """Name and installed version of these packages and of all they need here, in order of name."""
    found: dict[str, str] = {}
    waiting = [Requirement(name) for name in roots]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        wanted = waiting.pop()
        name, extras = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            # A constraint takes no local part: 2.1 also means 2.1+cpu.
            found[name] = importlib.metadata.version(name).split("+")[0]
        except importlib.metadata.PackageNotFoundError:
            continue
        waiting.extend(_needs(name, extras))
    return dict(sorted(found.items()))


def _needs(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    for text in importlib.metadata.requires(name) or []:
        needed = Requirement(text)
        if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield needed

"""The environment of a worker: what it needs, and nothing that the stack knows beyond that."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chalicelib.ports import WorkerSpec
from local_stack.process_tree import MARKER

_PASSED_ON = frozenset({"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"})
_PASSED_ON_PREFIXES = ("PIP_", "SSL_CERT_")


@dataclass(frozen=True)
class Surroundings:
    """What all workers of one stack share. ``environment`` is the stack's own, of which only harmless names are passed on."""

    api_url: str
    host: str
    project: Path
    """The folder that holds chalicelib, local_stack and worker_image."""
    environment: Mapping[str, str]


def worker_environment(
    spec: WorkerSpec, surroundings: Surroundings, *, handle: str, scratch: Path, devices: str
) -> dict[str, str]:
    """The whole environment of this worker; ``devices`` is its CUDA_VISIBLE_DEVICES, empty for none."""
    return python_environment(surroundings) | {
        "OMP_NUM_THREADS": str(spec.threads),
        "CUDA_VISIBLE_DEVICES": devices,
        "TUTTI_API": surroundings.api_url,
        "TUTTI_CODE": spec.code,
        "TUTTI_WORK": str(scratch),
        "TMPDIR": str(scratch),
        "TUTTI_HOST": surroundings.host,
        MARKER: handle,
    }


def python_environment(surroundings: Surroundings) -> dict[str, str]:
    """What any process of the workers needs to run the project's Python."""
    imports = (surroundings.project, surroundings.project / "worker_image")
    return _passed_on(surroundings.environment) | {
        "PYTHONPATH": os.pathsep.join(str(folder) for folder in imports),
        "PYTHONUNBUFFERED": "1",
    }


def _passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in environment.items() if k in _PASSED_ON or k.startswith(_PASSED_ON_PREFIXES)}

"""Whether a module that is missing was asked for: what to do differs."""

import re
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from chalicelib.contracts.job import Cause
from tutti_worker.launched_copy import requirements_text

_MISSING = re.compile(r"No module named '?([\w.]+)'?")
_FILE = "requirements.txt"
_BROUGHT_BY = {
    "cv2": ("opencv-python", "opencv-python-headless", "opencv-contrib-python"),
    "PIL": ("pillow",),
    "sklearn": ("scikit-learn",),
    "skimage": ("scikit-image",),
    "yaml": ("pyyaml",),
    "bs4": ("beautifulsoup4",),
    "dateutil": ("python-dateutil",),
    "dotenv": ("python-dotenv",),
    "attr": ("attrs",),
    "google": ("protobuf",),
}
"""Modules whose package has another name."""


def advice(module: str, job: Path) -> str:
    """What to do about a missing module, by the requirements of the launched copy in this folder."""
    top = module.partition(".")[0]
    wanted = _BROUGHT_BY.get(top, (canonicalize_name(top),))
    named = next((name for name in _named(job) if name in wanted), None)
    if named is not None:
        return f"{_FILE} names {named}, which brought no module {module}: ask for a version that has it."
    return f"{_FILE} does not name {wanted[0]}: add the package of {top} to it, or its file to scripts/."


def with_advice(cause: Cause, job: Path) -> Cause:
    """The cause with the advice in its sentence when that tells of a missing module and says nothing of the requirements yet."""
    found = _MISSING.search(cause.sentence)
    if found is None or _FILE in cause.sentence:
        return cause
    return cause.model_copy(update={"sentence": f"{cause.sentence.rstrip('.')}; {advice(found[1], job)}"})


def _named(job: Path) -> Iterator[str]:
    for line in requirements_text(job).splitlines():
        try:
            yield canonicalize_name(Requirement(line.partition("#")[0].strip()).name)
        except InvalidRequirement:
            continue

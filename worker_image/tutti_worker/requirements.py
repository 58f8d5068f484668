"""The workspace's requirements: what is there already is skipped, the rest goes into a folder of the job's own."""

import importlib.metadata
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from chalicelib.contracts.job import ReasonCode
from tutti_worker.installer import TookTooLong, run_pip
from tutti_worker.platform_pins import PINNED, platform_versions
from tutti_worker.trouble import Failure, failure

_NAMES_PACKAGES = re.compile(r"^(-e|--editable|-r|--requirement)(\s|=|$)")
"""Options that bring packages of their own."""
_FIRST_PASS_ONLY = re.compile(r"^(-e|--editable|-r|--requirement|-c|--constraint|--require-hashes)(\s|=|$)")
"""Options that are of no use once it is known what is fetched from where."""
_COMMENT = re.compile(r"(^|\s)#.*$")


@dataclass(frozen=True)
class Wanted:
    """One line of a requirements file."""

    line: int
    text: str
    requirement: Requirement | None
    """None for what only pip itself understands (options, URLs, local files)."""

    @property
    def is_option(self) -> bool:
        """True for a line that says how to install and names nothing to install."""
        return self.text.startswith("-") and not _NAMES_PACKAGES.match(self.text)


def parse(text: str) -> list[Wanted]:
    """The requirements of a file, in order, without comments; raises Failure requirements_failed for a bad line."""
    return [_parse_line(number, line) for number, line in _lines(text)]


def missing(wanted: list[Wanted]) -> list[Wanted]:
    """Those that this environment does not satisfy, and the options they are installed with; empty when it does.

    Markers that do not apply here count as satisfied.
    """
    lacking = [one for one in wanted if one.is_option or one.requirement is None or not _satisfied(one.requirement)]
    return lacking if any(not one.is_option for one in lacking) else []


def install(wanted: list[Wanted], overlay: Path, *, timeout_s: float = 1800.0) -> None:
    """Install into ``overlay`` what is missing, dependencies too, and nothing that is here already.

    Where packages come from and their hashes are the file's own; what is fetched is exactly what was resolved. Raises
    Failure requirements_failed with the installer's own error lines, also when a package that the platform itself
    stands on would have to change.
    """
    _refuse_other_pins(wanted)
    overlay.mkdir(parents=True, exist_ok=True)
    listed, pins, plan = (overlay.parent / name for name in ("wanted.txt", "platform.txt", "plan.json"))
    try:
        listed.write_text("\n".join(one.text for one in wanted) + "\n")
        pins.write_text("".join(f"{name}=={version}\n" for name, version in platform_versions().items()))
        # Installing into a folder ignores what is installed elsewhere: let the installer say first what is missing.
        _pip(wanted, timeout_s, "--dry-run", "--report", str(plan), "-c", str(pins), "-r", str(listed))
        listed.write_text("\n".join([*_options(wanted), *_planned(plan)]) + "\n")
        _pip(wanted, timeout_s, "--target", str(overlay), "--no-deps", "-r", str(listed))
        drop_platform_packages(overlay)
    finally:
        for leftover in (listed, pins, plan):
            leftover.unlink(missing_ok=True)


def _pip(wanted: list[Wanted], timeout_s: float, *arguments: str) -> None:
    try:
        status, said = run_pip(arguments, timeout_s)
    except TookTooLong:
        raise failure(
            ReasonCode.REQUIREMENTS_FAILED, f"installing the requirements took over {timeout_s / 60:.0f} minutes."
        ) from None
    if status != 0:
        raise _failed(wanted, said)


def _options(wanted: list[Wanted]) -> Iterator[str]:
    return (one.text for one in wanted if one.is_option and not _FIRST_PASS_ONLY.match(one.text))


def _planned(plan: Path) -> Iterator[str]:
    for item in json.loads(plan.read_text())["install"]:
        yield f"{item['metadata']['name']} @ {_place(item['download_info'])}"


def _place(chosen: dict[str, Any]) -> str:
    url, subdirectory = chosen["url"], chosen.get("subdirectory")
    if vcs := chosen.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    hashes = chosen.get("archive_info", {}).get("hashes", {})
    parts = [f"{name}={value}" for name, value in hashes.items() if name == "sha256"]
    parts += [f"subdirectory={subdirectory}"] if subdirectory else []
    return f"{url.partition('#')[0]}#{'&'.join(parts)}" if parts else url


def drop_platform_packages(overlay: Path) -> None:
    """Take copies of the platform's own packages (dragged in by others) out of the overlay again."""
    import shutil

    for name in PINNED:
        shutil.rmtree(overlay / name, ignore_errors=True)
        for record in overlay.glob(f"{name}-*.dist-info"):
            shutil.rmtree(record, ignore_errors=True)


def top_levels(overlay: Path) -> set[str]:
    """The module names an overlay brings."""
    if not overlay.is_dir():
        return set()
    names = {entry.name.split(".")[0] for entry in overlay.iterdir() if _importable(entry)}
    return names - {"bin", "__pycache__"}


def _importable(entry: Path) -> bool:
    if entry.name.endswith((".dist-info", ".data")):
        return False
    return entry.is_dir() or entry.suffix in (".py", ".so", ".pyd")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    joined, start = "", 0
    for number, raw in enumerate(text.splitlines(), start=1):
        start = start if joined else number
        part = _COMMENT.sub("", raw).strip()
        if part.endswith("\\"):
            joined += part[:-1] + " "
            continue
        joined += part
        if joined.strip():
            yield start, " ".join(joined.split())
        joined = ""


def _parse_line(number: int, text: str) -> Wanted:
    if text.startswith("-") or "://" in text.split("@", maxsplit=1)[0] or text.startswith((".", "/")):
        return Wanted(number, text, None)
    bare = re.split(r"\s--(?:hash|config-settings|global-option)", text)[0]
    try:
        return Wanted(number, text, Requirement(bare))
    except InvalidRequirement as error:
        raise failure(
            ReasonCode.REQUIREMENTS_FAILED,
            f"line {number} of requirements.txt is not a requirement: {text[:200]}",
            file="requirements/requirements.txt",
            line=number,
            evidence=tuple(str(error).splitlines()[:5]),
        ) from None


def _satisfied(requirement: Requirement) -> bool:
    if requirement.marker is not None and not requirement.marker.evaluate():
        return True
    if requirement.url is not None:
        return False
    try:
        version = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return False
    if not requirement.specifier.contains(version, prereleases=True):
        return False
    return not requirement.extras or all(_extra_satisfied(requirement.name, extra) for extra in requirement.extras)


def _extra_satisfied(name: str, extra: str) -> bool:
    for text in importlib.metadata.requires(name) or []:
        needed = Requirement(text)
        if needed.marker is None or "extra" not in str(needed.marker):
            continue
        if needed.marker.evaluate({"extra": extra}) and not _plainly_there(needed):
            return False
    return True


def _plainly_there(requirement: Requirement) -> bool:
    try:
        return requirement.specifier.contains(importlib.metadata.version(requirement.name), prereleases=True)
    except importlib.metadata.PackageNotFoundError:
        return False


def _refuse_other_pins(wanted: list[Wanted]) -> None:
    versions = platform_versions(PINNED)
    for one in wanted:
        name = canonicalize_name(one.requirement.name) if one.requirement else ""
        if name in PINNED and name in versions:
            raise failure(
                ReasonCode.REQUIREMENTS_FAILED,
                f"line {one.line} asks for {one.text}, the platform runs {name} {versions[name]}; relax or drop the line.",
                file="requirements/requirements.txt",
                line=one.line,
            )


def _failed(wanted: list[Wanted], output: str) -> Failure:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    first = next((at for at, line in enumerate(lines) if line.lower().startswith("error")), max(0, len(lines) - 5))
    said = lines[first : first + 40] or ["no word"]
    culprit = next((one for one in wanted if one.requirement and one.requirement.name in said[0]), None)
    return failure(
        ReasonCode.REQUIREMENTS_FAILED,
        f"the requirements could not be installed: {said[0][:300]}",
        file="requirements/requirements.txt",
        line=culprit.line if culprit else None,
        evidence=tuple(said),
    )

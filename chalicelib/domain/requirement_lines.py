"""Lines of a requirements.txt, sorted by what they mean to a worker."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What a line is."""

    PACKAGE = "package"
    LOCAL = "local"
    """A file, a folder or another requirements file: of the author's machine."""
    OPTION = "option"
    UNREADABLE = "unreadable"


@dataclass(frozen=True)
class RequirementLine:
    """One logical line: the number of its first line, its text without comment, and the package's name if it names one."""

    number: int
    text: str
    kind: Kind
    name: str | None = None


_NAME = r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
_EXTRAS = r"(?:\s*\[\s*[A-Za-z0-9._-]+(?:\s*,\s*[A-Za-z0-9._-]+)*\s*\])?"
_VERSION = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9][A-Za-z0-9._+!*-]*"
_VERSIONS = rf"{_VERSION}(?:\s*,\s*{_VERSION})*\s*,?"
_QUOTED = r"(?:'[^']*'|\"[^\"]*\")"
_MARKER = rf"(?:\s*;\s*(?:{_QUOTED}|[A-Za-z0-9_.()<>=!~\s])+)?"
_PER_LINE = r"(?:\s+--(?:hash|config-settings|global-option|install-option)[=\s]\S+)*"
_PACKAGE = re.compile(rf"{_NAME}{_EXTRAS}\s*(?:\(\s*{_VERSIONS}\s*\)|{_VERSIONS})?{_MARKER}{_PER_LINE}")
_DIRECT = re.compile(rf"{_NAME}{_EXTRAS}\s*@\s*(?P<url>\S+)(?:\s+;.*)?{_PER_LINE}")
_REMOTE = re.compile(r"(?:(?:git|hg|svn|bzr)\+)?(?:https?|ssh)://\S+")
_READS_FILE = re.compile(r"(?:-r|-c|-e|--requirement|--constraint|--editable)\b")
_PATH = re.compile(r"(?:file:|\.{1,2}[/\\]|[/\\~]|[A-Za-z]:[\\/])|.*\.(?:whl|zip|tar\.gz)$")


def requirement_lines(text: str) -> Iterator[RequirementLine]:
    """Every line that is not blank or a comment, joined where a ``\\`` ends it."""
    for number, line in _logical(text):
        stripped = re.sub(r"(^|\s)#.*$", "", line).strip()
        if stripped:
            yield _sorted(number, stripped)


def _logical(text: str) -> Iterator[tuple[int, str]]:
    held, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        first = first or number
        comment = held == "" and line.lstrip().startswith("#")
        if line.endswith("\\") and not comment:
            held += line[:-1]
            continue
        yield first, held + line
        held, first = "", 0
    if held:
        yield first, held


def _sorted(number: int, line: str) -> RequirementLine:
    if _READS_FILE.match(line):
        remote = _REMOTE.search(line)
        return RequirementLine(number, line, Kind.OPTION if remote else Kind.LOCAL)
    if line.startswith("-"):
        return RequirementLine(number, line, Kind.OPTION)
    direct = _DIRECT.fullmatch(line)
    if direct:
        kind = Kind.PACKAGE if _REMOTE.fullmatch(direct["url"]) else Kind.LOCAL
        return RequirementLine(number, line, kind, direct["name"])
    package = _PACKAGE.fullmatch(line)
    if package and not _PATH.fullmatch(line):
        return RequirementLine(number, line, Kind.PACKAGE, package["name"])
    if _REMOTE.fullmatch(line):
        return RequirementLine(number, line, Kind.PACKAGE)
    return RequirementLine(number, line, Kind.LOCAL if _PATH.match(line) else Kind.UNREADABLE)

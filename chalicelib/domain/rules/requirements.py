"""requirements.txt: there, and lines that pip on a worker can read."""

from collections.abc import Iterator

from chalicelib.contracts.report import Finding
from chalicelib.domain.errors import BadPlace
from chalicelib.domain.findings import error, from_error, warning
from chalicelib.domain.requirement_lines import Kind, RequirementLine, requirement_lines
from chalicelib.domain.snapshot import WorkspaceSnapshot
from chalicelib.domain.text import read
from chalicelib.domain.workspaces import REQUIREMENTS

_LOCAL_HINT = "Name the package and its version; 'pip list --format=freeze' writes such lines."


def requirements_are_there(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """A requirements folder without requirements.txt installs nothing."""
    if ws.folder("requirements") and not ws.has(REQUIREMENTS):
        yield error("requirements_missing", f"{REQUIREMENTS} is missing", path=REQUIREMENTS)


def requirements_can_be_read(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """Every line is a requirement; what only means something on the author's machine is refused."""
    if REQUIREMENTS not in ws.texts:
        return
    try:
        text = read(ws.texts[REQUIREMENTS], REQUIREMENTS)
    except BadPlace as problem:
        yield from_error(problem, "requirements_not_text")
        return
    for line in requirement_lines(text):
        yield from _found(line)


def _found(line: RequirementLine) -> Iterator[Finding]:
    at = f"{REQUIREMENTS} line {line.number}: {line.text}"
    if line.kind is Kind.UNREADABLE:
        hint = "One requirement a line, like numpy>=1.26."
        yield error("requirement_unreadable", f"{at} is not a requirement", path=REQUIREMENTS, line=line.number, hint=hint)
    elif line.kind is Kind.LOCAL:
        message = f"{at} points to a file that no worker has"
        yield error("requirement_local", message, path=REQUIREMENTS, line=line.number, hint=_LOCAL_HINT)
    elif line.kind is Kind.OPTION:
        message = f"{at} changes where or how pip looks for packages; it is passed on as it is"
        yield warning("requirement_option", message, path=REQUIREMENTS, line=line.number)

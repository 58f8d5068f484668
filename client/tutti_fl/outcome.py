"""How a command ended: its exit code, and the one document of ``--json``."""

import dataclasses
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import Any

from tutti_fl.errors import TransferFailed, TuttiError, Unreachable
from tutti_fl.shapes.jobs import CANCELLED, FINISHED, Job, Round
from tutti_fl.shapes.workspaces import Report


class ExitCode(IntEnum):
    """What the shell sees."""

    FINISHED = 0
    REFUSED = 1
    """Validation or the launch refused it."""
    USAGE = 2
    FAILED = 3
    CANCELLED = 4
    UNREACHABLE = 5
    """No answer, not signed in, or a file did not get through."""
    DETACHED = 130
    """Ctrl-C: the job, if there is one, goes on."""


USAGE_CODES = frozenset(
    ("usage", "no_folder", "empty_folder", "local_file", "shards_differ", "settings_conflict", "no_such_job", "ambiguous_job")
)


def exit_code_of(error: TuttiError) -> ExitCode:
    """How a command ends that this error ended."""
    if isinstance(error, Unreachable | TransferFailed) or error.status == 401:
        return ExitCode.UNREACHABLE
    return ExitCode.USAGE if error.code in USAGE_CODES else ExitCode.REFUSED


def exit_code_of_job(job: Job) -> ExitCode:
    """How a command ends that followed this job to its end."""
    return {FINISHED: ExitCode.FINISHED, CANCELLED: ExitCode.CANCELLED}.get(job.state, ExitCode.FAILED)


@dataclass
class Outcome:
    """Everything a run found out, filled as it goes."""

    workspace: str = ""
    report: Report | None = None
    job: Job | None = None
    rounds: tuple[Round, ...] = ()
    model_path: Path | None = None
    seconds: dict[str, float | None] = field(default_factory=dict)
    """upload, validate, launch_to_running, launch_to_first_step, launch_to_finished."""
    exit_code: ExitCode = ExitCode.REFUSED

    def document(self) -> dict[str, Any]:
        """The outcome as plain JSON."""
        job = self.job
        return {
            "exit_code": int(self.exit_code),
            "workspace": self.workspace,
            "report": plain(self.report),
            "job_id": job.id if job else None,
            "state": job.state if job else None,
            "reason": plain(job.reason) if job else None,
            "rounds": plain(self.rounds),
            "seconds": self.seconds,
            "model_path": str(self.model_path) if self.model_path else None,
        }


def error_document(error: TuttiError, code: ExitCode) -> dict[str, Any]:
    """A refusal as plain JSON, in the API's own shape."""
    said = {"code": error.code, "message": error.message, "hint": error.hint, "fields": error.fields}
    return {"exit_code": int(code), "error": said | {"request_id": error.request_id}}


def plain(value: Any) -> Any:
    """Dataclasses, times and exact decimals as what JSON has."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal | Path) else value

"""What both roles do before a federation: the launched copy, its packages, and a try of the user's code."""

import sys
from pathlib import Path

from chalicelib.contracts.job import Phase, ReasonCode
from chalicelib.contracts.worker import Role, UrlKind
from tutti_worker import requirements
from tutti_worker.launched_copy import requirements_text, unpack_job
from tutti_worker.messages import Start
from tutti_worker.preflight import read_cause
from tutti_worker.trouble import Failure, failure
from tutti_worker.worker import Worker

_PREFLIGHT_TIMEOUT_S = 600.0


def fetch_job(worker: Worker) -> None:
    """Download and unpack the launched copy."""
    worker.phase(Phase.DOWNLOADING, "the launched copy")
    packed = worker.fetch(worker.assignment.job_zip, UrlKind.JOB_ZIP, worker.settings.work / "job.zip")
    unpack_job(packed, worker.layout.job)
    packed.unlink()


def install_requirements(worker: Worker) -> None:
    """Install what the workspace requires and this environment lacks; raises Failure requirements_failed."""
    todo = requirements.missing(requirements.parse(requirements_text(worker.layout.job)))
    if not todo:
        return
    worker.phase(Phase.INSTALLING, ", ".join(one.text for one in todo if not one.is_option)[:200])
    requirements.install(todo, worker.layout.overlay)
    worker.use_overlay(fresh=shadows(worker.layout.overlay))


def shadows(overlay: Path) -> bool:
    """True when the overlay brings a module that the warm process has imported already, or may have."""
    from importlib.util import find_spec

    loaded = {name.split(".")[0] for name in sys.modules}
    return any(name in loaded or find_spec(name) is not None for name in requirements.top_levels(overlay))


def start_preflight(worker: Worker) -> Start:
    """Begin to try the user's code in a process of its own."""
    role = worker.assignment.role.value
    argv = [str(worker.layout.job), str(_result(worker)), role]
    return worker.start("tutti_worker.preflight:main", argv, "preflight")


def finish_preflight(worker: Worker, started: Start) -> None:
    """Wait for the try; raises Failure with what it found."""
    try:
        status = worker.warm.wait(started, _PREFLIGHT_TIMEOUT_S)
    except TimeoutError:
        raise failure(ReasonCode.IMPORT_FAILED, "importing scripts/ took over 10 minutes.") from None
    cause = read_cause(_result(worker))
    if cause is not None:
        raise Failure(cause.model_copy(update={"site": worker.assignment.site}))
    if status != 0:
        what = "the server" if worker.assignment.role is Role.SERVER else worker.assignment.site
        raise failure(
            ReasonCode.IMPORT_FAILED,
            f"trying scripts/ on {what} ended the process (status {status}).",
            evidence=tuple(worker.logs.tail("job")[-40:]),
        )


def _result(worker: Worker) -> Path:
    return worker.settings.work / "preflight.json"

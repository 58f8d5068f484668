"""Which job a person means."""

from itertools import islice

from tutti_fl.client import Client
from tutti_fl.errors import TuttiError
from tutti_fl.shapes.jobs import Job

WHOLE_ID = len("job-") + 26
LOOKED_THROUGH = 500
"""So many of the newest jobs are looked through for a part of an id."""


def find_job(client: Client, said: str | None) -> Job:
    """The job with this id, the newest of the workspace with this name, or the one whose id begins or ends so; None: the newest.

    TuttiError ``no_such_job``, or ``ambiguous_job`` with the ids it could be.
    """
    if said is None:
        return _newest(client)
    if said.startswith("job-") and len(said) == WHOLE_ID:
        return client.jobs.get(said)
    newest = next(client.jobs.list(workspace=said), None)
    return newest if newest is not None else _by_part(client, said)


def _newest(client: Client) -> Job:
    job = next(client.jobs.list(), None)
    if job is None:
        raise TuttiError("no_such_job", "you have no jobs yet", "'tutti run FOLDER' launches one.")
    return job


def _by_part(client: Client, said: str) -> Job:
    part = said.lower()
    found = [
        job
        for job in islice(client.jobs.list(), LOOKED_THROUGH)
        if job.id.endswith(part) or job.id.startswith((part, f"job-{part}"))
    ]
    if not found:
        raise TuttiError("no_such_job", f"you have no job or workspace {said!r}", "'tutti jobs' lists them.")
    if len(found) > 1:
        named = {job.id: f"{job.state} in {job.workspace}" for job in found[:5]}
        raise TuttiError("ambiguous_job", f"{said!r} could be {len(found)} jobs", "Give more of the id.", fields=named)
    return found[0]

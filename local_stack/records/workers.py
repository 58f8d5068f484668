"""Worker rows, inside a transaction or a read of the jobs' store."""

from collections.abc import Iterable, Sequence
from sqlite3 import Connection

from chalicelib.contracts.job import SERVER, WorkerState
from chalicelib.domain.errors import WorkerNotFound


def write(connection: Connection, job_id: str, workers: Iterable[WorkerState]) -> None:
    """Put the rows, over what is there."""
    query = "INSERT OR REPLACE INTO workers (job_id, attempt, place, site, accepted_seq, body) VALUES (?, ?, ?, ?, ?, ?)"
    for worker in workers:
        values = (job_id, worker.attempt, _place(worker.site), worker.site, worker.accepted_seq, worker.model_dump_json())
        connection.execute(query, values)


def one(connection: Connection, job_id: str, attempt: int, site: str) -> WorkerState:
    """One row. Absent: WorkerNotFound."""
    query = "SELECT body FROM workers WHERE job_id = ? AND attempt = ? AND site = ?"
    row = connection.execute(query, (job_id, attempt, site)).fetchone()
    if row is None:
        raise WorkerNotFound(f"{job_id} has no worker {site} in attempt {attempt}")
    return WorkerState.model_validate_json(row["body"])


def of_attempt(connection: Connection, job_id: str, attempt: int) -> Sequence[WorkerState]:
    """The rows of one attempt: server first, then the sites by number."""
    query = "SELECT body FROM workers WHERE job_id = ? AND attempt = ? ORDER BY place, site"
    found = connection.execute(query, (job_id, attempt)).fetchall()
    return tuple(WorkerState.model_validate_json(row["body"]) for row in found)


def accepted_seq(connection: Connection, job_id: str, worker: WorkerState) -> int:
    """The stored event number of this row; 0 when there is none."""
    query = "SELECT accepted_seq FROM workers WHERE job_id = ? AND attempt = ? AND site = ?"
    row = connection.execute(query, (job_id, worker.attempt, worker.site)).fetchone()
    return 0 if row is None else int(row["accepted_seq"])


def heard_of(stored: WorkerState, worker: WorkerState) -> WorkerState:
    """The stored row with what a heartbeat may change, so that one read before a start or an exit was recorded undoes neither."""
    news = {"last_seen": worker.last_seen, "accepted_seq": worker.accepted_seq, "silent_warned": worker.silent_warned}
    return stored.model_copy(update=news)


def _place(site: str) -> int:
    number = site.rpartition("-")[2]
    return 0 if site == SERVER or not number.isdecimal() else int(number)

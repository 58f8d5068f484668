"""Jobs, their worker rows and their feeds."""

from collections.abc import Sequence
from datetime import datetime
from sqlite3 import Connection

from chalicelib.contracts.job import Change, FeedItem, Job, WorkerState
from chalicelib.domain.errors import ClientTokenReused, JobNotFound, StaleWrite, WorkspaceBusy
from chalicelib.ports import JobPage
from local_stack.records import workers as rows
from local_stack.records.file import Records


class JobRecords:
    """JobStore on SQLite: what must hold together is one transaction, and the file admits one writer at a time."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def add(self, job: Job, *, client_token: str, content: str, workers: Sequence[WorkerState]) -> Job:
        """Store a new job, or answer the one this owner's token made before; see ports.JobStore."""
        with self._records.writing() as connection:
            earlier = _launched(connection, job.owner, client_token, content)
            if earlier is not None:
                return earlier
            _require_idle(connection, job.owner, job.workspace)
            _insert(connection, job)
            rows.write(connection, job.id, workers)
            connection.execute("INSERT INTO launches VALUES (?, ?, ?, ?)", (job.owner, client_token, content, job.id))
        return job

    def by_token(self, owner: str, client_token: str, content: str) -> Job | None:
        """The job an earlier launch with this token made."""
        with self._records.reading() as connection:
            return _launched(connection, owner, client_token, content)

    def get(self, job_id: str) -> Job:
        """The job as last committed."""
        with self._records.reading() as connection:
            return _job(connection, job_id)

    def list(self, owner: str, *, cursor: str | None = None, limit: int = 50, workspace: str | None = None) -> JobPage:
        """The owner's jobs, newest first; job ids sort by age, so the cursor is the last id of the page before."""
        query = "SELECT body FROM jobs WHERE owner = :owner"
        query += " AND workspace = :workspace" if workspace is not None else ""
        query += " AND id < :cursor" if cursor is not None else ""
        wish = {"owner": owner, "workspace": workspace, "cursor": cursor, "more": limit + 1}
        with self._records.reading() as connection:
            found = connection.execute(query + " ORDER BY id DESC LIMIT :more", wish).fetchall()
        jobs = tuple(Job.model_validate_json(row["body"]) for row in found[:limit])
        return JobPage(jobs=jobs, cursor=jobs[-1].id if len(found) > limit else None)

    def active(self) -> Sequence[Job]:
        """Every job that has not ended, oldest first."""
        with self._records.reading() as connection:
            found = connection.execute("SELECT body FROM jobs WHERE active ORDER BY id").fetchall()
        return tuple(Job.model_validate_json(row["body"]) for row in found)

    def active_in(self, owner: str, workspace: str) -> Job | None:
        """The job of this workspace that has not ended."""
        with self._records.reading() as connection:
            return _active_in(connection, owner, workspace)

    def commit(self, job: Job, *, changes: Sequence[Change], workers: Sequence[WorkerState], at: datetime) -> Job:
        """Write job, worker rows and numbered changes together, or nothing: StaleWrite."""
        stored = job.model_copy(update={"version": job.version + 1, "seq": job.seq + len(changes)})
        with self._records.writing() as connection:
            _replace(connection, stored, was=job)
            _require_current(connection, job.id, workers)
            rows.write(connection, job.id, workers)
            _append(connection, job, changes, at)
        return stored

    def touch(self, job_id: str, worker: WorkerState) -> None:
        """Note that a worker was heard of, unless it has been heard of later. Absent: WorkerNotFound."""
        with self._records.writing() as connection:
            stored = rows.one(connection, job_id, worker.attempt, worker.site)
            if stored.accepted_seq <= worker.accepted_seq:
                rows.write(connection, job_id, [rows.heard_of(stored, worker)])

    def worker(self, job_id: str, attempt: int, site: str) -> WorkerState:
        """One worker row."""
        with self._records.reading() as connection:
            return rows.one(connection, job_id, attempt, site)

    def workers(self, job_id: str, attempt: int) -> Sequence[WorkerState]:
        """All worker rows of an attempt: server first, then the sites by number."""
        with self._records.reading() as connection:
            return rows.of_attempt(connection, job_id, attempt)

    def feed(self, job_id: str, *, after: int, limit: int = 500, kinds: Sequence[str] = ()) -> Sequence[FeedItem]:
        """Changes with a number above ``after`` in order, only of the given kinds when any is given."""
        only = f" AND kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        query = f"SELECT body FROM changes WHERE job_id = ? AND seq > ?{only} ORDER BY seq LIMIT ?"  # noqa: S608 - marks only
        with self._records.reading() as connection:
            found = connection.execute(query, (job_id, after, *kinds, limit)).fetchall()
        return tuple(FeedItem.model_validate_json(row["body"]) for row in found)


def _job(connection: Connection, job_id: str) -> Job:
    row = connection.execute("SELECT body FROM jobs WHERE id = ?", (job_id,)).fetchone()
    if row is None:
        raise JobNotFound(f"there is no job {job_id}")
    return Job.model_validate_json(row["body"])


def _launched(connection: Connection, owner: str, client_token: str, content: str) -> Job | None:
    query = "SELECT content, job_id FROM launches WHERE owner = ? AND client_token = ?"
    row = connection.execute(query, (owner, client_token)).fetchone()
    if row is None:
        return None
    if row["content"] != content:
        raise ClientTokenReused(f"the client token {client_token} already launched {row['job_id']}, with other content")
    return _job(connection, row["job_id"])


def _active_in(connection: Connection, owner: str, workspace: str) -> Job | None:
    query = "SELECT body FROM jobs WHERE owner = ? AND workspace = ? AND active"
    row = connection.execute(query, (owner, workspace)).fetchone()
    return None if row is None else Job.model_validate_json(row["body"])


def _require_idle(connection: Connection, owner: str, workspace: str) -> None:
    busy = _active_in(connection, owner, workspace)
    if busy is not None:
        raise WorkspaceBusy(f"{busy.id} of the workspace {workspace} has not ended")


def _insert(connection: Connection, job: Job) -> None:
    values = (job.id, job.owner, job.workspace, not job.state.ended, job.version, job.seq, job.model_dump_json())
    connection.execute("INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?)", values)


def _replace(connection: Connection, job: Job, *, was: Job) -> None:
    query = "UPDATE jobs SET active = ?, version = ?, seq = ?, body = ? WHERE id = ? AND version = ? AND seq = ?"
    values = (not job.state.ended, job.version, job.seq, job.model_dump_json(), job.id, was.version, was.seq)
    if connection.execute(query, values).rowcount == 0:
        raise StaleWrite(f"{job.id} is no longer at version {was.version}")


def _require_current(connection: Connection, job_id: str, workers: Sequence[WorkerState]) -> None:
    """A heartbeat may have written a row since the caller read it; to put the old number back would let its events in twice."""
    for worker in workers:
        if rows.accepted_seq(connection, job_id, worker) > worker.accepted_seq:
            raise StaleWrite(f"{worker.site} of {job_id} has moved on since it was read")


def _append(connection: Connection, job: Job, changes: Sequence[Change], at: datetime) -> None:
    for seq, change in enumerate(changes, start=job.seq + 1):
        item = FeedItem(seq=seq, at=at, change=change)
        connection.execute("INSERT INTO changes VALUES (?, ?, ?, ?)", (job.id, seq, change.kind, item.model_dump_json()))

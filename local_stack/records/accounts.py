"""Users, their buckets, keys and uploads, and the credentials of workers."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from sqlite3 import Connection, Row

from chalicelib.contracts.account import ApiKey, WorkerPrincipal
from chalicelib.domain.errors import Conflict, KeyNotFound, UploadNotFound
from chalicelib.ports import UploadRecord
from local_stack.records.file import Records

_UPLOADS_KEPT = timedelta(days=8)
"""A day longer than the bucket keeps half an upload."""
_USE_NOTED_EVERY = timedelta(minutes=1)


class AccountRecords:
    """AccountStore on SQLite; holds no secret, only hashes of them."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def bucket_of(self, user: str) -> str | None:
        """The user's bucket; None before it is created."""
        row = self._row("SELECT bucket FROM buckets WHERE user = ?", user)
        return None if row is None else str(row["bucket"])

    def owner_of(self, bucket: str) -> str | None:
        """Whose bucket it is."""
        row = self._row("SELECT user FROM buckets WHERE bucket = ?", bucket)
        return None if row is None else str(row["user"])

    def set_bucket(self, user: str, bucket: str) -> str:
        """Remember the user's bucket if there is none yet; the bucket that holds now. Another user's: Conflict."""
        with self._records.writing() as connection:
            connection.execute("INSERT OR IGNORE INTO buckets VALUES (?, ?)", (user, bucket))
            row = connection.execute("SELECT bucket FROM buckets WHERE user = ?", (user,)).fetchone()
        if row is None:
            raise Conflict(f"the bucket {bucket} belongs to another user", hint="Choose another bucket name.")
        return str(row["bucket"])

    def buckets(self) -> Sequence[tuple[str, str]]:
        """(user, bucket) of everybody, by user."""
        with self._records.reading() as connection:
            found = connection.execute("SELECT user, bucket FROM buckets ORDER BY user").fetchall()
        return tuple((row["user"], row["bucket"]) for row in found)

    def add_key(self, user: str, key: ApiKey, *, name: str, secret_hash: str) -> None:
        """Store an API key of this user, whose display name it carries."""
        query = "INSERT INTO api_keys (id, user, name, secret_hash, label, created_at, last_used_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
        used = None if key.last_used_at is None else key.last_used_at.isoformat()
        with self._records.writing() as connection:
            connection.execute(query, (key.id, user, name, secret_hash, key.label, key.created_at.isoformat(), used))

    def keys(self, user: str) -> Sequence[ApiKey]:
        """The user's keys, newest first."""
        query = "SELECT id, label, created_at, last_used_at FROM api_keys WHERE user = ? ORDER BY number DESC"
        with self._records.reading() as connection:
            found = connection.execute(query, (user,)).fetchall()
        return tuple(ApiKey.model_validate(dict(row)) for row in found)

    def remove_key(self, user: str, key_id: str) -> None:
        """Revoke at once. Absent or someone else's: KeyNotFound."""
        with self._records.writing() as connection:
            gone = connection.execute("DELETE FROM api_keys WHERE user = ? AND id = ?", (user, key_id)).rowcount
        if gone == 0:
            raise KeyNotFound(f"you have no API key {key_id}")

    def user_of_key(self, secret_hash: str, *, at: datetime) -> tuple[str, str] | None:
        """(user, display name) of a key. Its use is noted to the minute: a write per request would cost each one an fsync."""
        row = self._row("SELECT user, name, last_used_at FROM api_keys WHERE secret_hash = ?", secret_hash)
        if row is None:
            return None
        used = row["last_used_at"]
        if used is None or at - datetime.fromisoformat(used) >= _USE_NOTED_EVERY:
            self._note_use(secret_hash, at)
        return row["user"], row["name"]

    def add_upload(self, record: UploadRecord) -> None:
        """Remember an upload; the same id of the same owner again replaces it."""
        values = asdict(record) | {"started_at": record.started_at.isoformat()}
        query = """
            INSERT OR REPLACE INTO uploads (owner, id, bucket, key, size, part_size, store_id, started_at)
            VALUES (:owner, :id, :bucket, :key, :size, :part_size, :store_id, :started_at)
        """
        forgotten = (record.started_at - _UPLOADS_KEPT).isoformat()
        with self._records.writing() as connection:
            connection.execute(query, values)
            connection.execute("DELETE FROM uploads WHERE started_at < ?", (forgotten,))

    def upload(self, owner: str, upload_id: str) -> UploadRecord:
        """The upload. Absent or someone else's: UploadNotFound."""
        row = self._row("SELECT * FROM uploads WHERE owner = ? AND id = ?", owner, upload_id)
        if row is None:
            raise UploadNotFound(f"there is no upload {upload_id}")
        return UploadRecord(**dict(row) | {"started_at": datetime.fromisoformat(row["started_at"])})

    def remove_upload(self, owner: str, upload_id: str) -> None:
        """Forget it; silent when absent."""
        with self._records.writing() as connection:
            connection.execute("DELETE FROM uploads WHERE owner = ? AND id = ?", (owner, upload_id))

    def add_worker_code(self, code_hash: str, worker: WorkerPrincipal) -> None:
        """Remember the one-time code a worker will be started with; a code that is known stays as it is."""
        query = """
            INSERT INTO worker_codes (code_hash, job_id, attempt, site, role) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
        """
        with self._records.writing() as connection:
            connection.execute(query, (code_hash, worker.job_id, worker.attempt, worker.site, worker.role))

    def redeem_code(self, code_hash: str, *, nonce: str, token_hash: str) -> WorkerPrincipal | None:
        """Exchange a code for a token: the first nonce binds the code, and only the same nonce may replace the token."""
        query = """
            UPDATE worker_codes SET nonce_hash = :nonce, token_hash = :token
            WHERE code_hash = :code AND NOT revoked AND (nonce_hash IS NULL OR nonce_hash = :nonce) RETURNING *
        """
        values = {"code": code_hash, "nonce": hashlib.sha256(nonce.encode()).hexdigest(), "token": token_hash}
        with self._records.writing() as connection:
            return _principal(connection.execute(query, values).fetchone())

    def worker_of_token(self, token_hash: str) -> WorkerPrincipal | None:
        """Whose token it is; None when unknown or revoked."""
        return _principal(self._row("SELECT * FROM worker_codes WHERE token_hash = ? AND NOT revoked", token_hash))

    def revoke_workers(self, job_id: str) -> None:
        """Every code and token of the job stops working."""
        with self._records.writing() as connection:
            connection.execute("UPDATE worker_codes SET revoked = 1 WHERE job_id = ?", (job_id,))

    def _row(self, query: str, *values: str) -> Row | None:
        with self._records.reading() as connection:
            return _first(connection, query, values)

    def _note_use(self, secret_hash: str, at: datetime) -> None:
        with self._records.writing() as connection:
            connection.execute("UPDATE api_keys SET last_used_at = ? WHERE secret_hash = ?", (at.isoformat(), secret_hash))


def _first(connection: Connection, query: str, values: Sequence[str]) -> Row | None:
    row: Row | None = connection.execute(query, values).fetchone()
    return row


def _principal(row: Row | None) -> WorkerPrincipal | None:
    return None if row is None else WorkerPrincipal.model_validate(dict(row))

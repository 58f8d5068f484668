"""The tables, as a list of migrations: entry ``n`` takes a file of version ``n`` to ``n + 1``. A released one is never edited.

Entities are kept whole as JSON (contracts are lenient when read back); only what a query or a condition needs is a column.
"""

_FIRST = (
    """
    CREATE TABLE jobs (
        id TEXT PRIMARY KEY, owner TEXT NOT NULL, workspace TEXT NOT NULL, active INTEGER NOT NULL,
        version INTEGER NOT NULL, seq INTEGER NOT NULL, body TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX jobs_by_owner ON jobs (owner, id)",
    "CREATE INDEX jobs_by_workspace ON jobs (owner, workspace, id)",
    "CREATE UNIQUE INDEX one_active_job ON jobs (owner, workspace) WHERE active",
    "CREATE INDEX active_jobs ON jobs (id) WHERE active",
    """
    CREATE TABLE launches (
        owner TEXT NOT NULL, client_token TEXT NOT NULL, content TEXT NOT NULL, job_id TEXT NOT NULL,
        PRIMARY KEY (owner, client_token)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE workers (
        job_id TEXT NOT NULL, attempt INTEGER NOT NULL, place INTEGER NOT NULL, site TEXT NOT NULL,
        accepted_seq INTEGER NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (job_id, attempt, site)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE changes (
        job_id TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (job_id, seq)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX changes_by_kind ON changes (job_id, kind, seq)",
    """
    CREATE TABLE reports (
        owner TEXT NOT NULL, workspace TEXT NOT NULL, taken INTEGER NOT NULL, stored INTEGER NOT NULL, body TEXT,
        PRIMARY KEY (owner, workspace)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE TABLE buckets (user TEXT PRIMARY KEY, bucket TEXT NOT NULL UNIQUE) STRICT, WITHOUT ROWID",
    """
    CREATE TABLE api_keys (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, user TEXT NOT NULL, name TEXT NOT NULL,
        secret_hash TEXT NOT NULL UNIQUE, label TEXT NOT NULL, created_at TEXT NOT NULL, last_used_at TEXT
    ) STRICT
    """,
    "CREATE INDEX api_keys_by_user ON api_keys (user, number)",
    """
    CREATE TABLE uploads (
        owner TEXT NOT NULL, id TEXT NOT NULL, bucket TEXT NOT NULL, key TEXT NOT NULL, size INTEGER NOT NULL,
        part_size INTEGER NOT NULL, store_id TEXT NOT NULL, started_at TEXT NOT NULL,
        PRIMARY KEY (owner, id)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE worker_codes (
        code_hash TEXT PRIMARY KEY, nonce_hash TEXT, token_hash TEXT UNIQUE, revoked INTEGER NOT NULL DEFAULT 0,
        job_id TEXT NOT NULL, attempt INTEGER NOT NULL, site TEXT NOT NULL, role TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX worker_codes_by_job ON worker_codes (job_id)",
    """
    CREATE TABLE leases (
        slot TEXT PRIMARY KEY, job_id TEXT NOT NULL, place INTEGER NOT NULL, gpu_type TEXT NOT NULL, price TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX leases_by_job ON leases (job_id, place)",
)


def migrations() -> tuple[tuple[str, ...], ...]:
    """The statements of every step, oldest first; their number is the version of an up-to-date file."""
    return (_FIRST,)

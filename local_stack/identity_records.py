"""Who signs in on this machine: users, one-time codes, sessions and grants in one private SQLite file; secrets hashed."""

import hashlib
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from re import compile as regex
from uuid import uuid4

_USER_NAME = regex(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,62}")
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LOOKS_LIKE = str.maketrans({"O": "0", "I": "1", "L": "1", "-": None, " ": None})
_CODE_S, _SESSION_S, _GRANT_S = 15 * 60, 30 * 24 * 3600, 60
_WRONG_TRIES, _WRONG_WITHIN_S = 5, 60
_SCHEMA = """
CREATE TABLE IF NOT EXISTS users (name TEXT PRIMARY KEY, sub TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS codes (hash TEXT PRIMARY KEY, user TEXT NOT NULL, until REAL NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (hash TEXT PRIMARY KEY, user TEXT NOT NULL, until REAL NOT NULL);
CREATE TABLE IF NOT EXISTS grants (hash TEXT PRIMARY KEY, user TEXT NOT NULL, until REAL NOT NULL,
    client TEXT NOT NULL, redirect TEXT NOT NULL, challenge TEXT NOT NULL, nonce TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS wrong_tries (at REAL NOT NULL);
"""


@dataclass(frozen=True)
class User:
    """Somebody who signs in here; ``sub`` never changes for a name."""

    name: str
    sub: str


@dataclass(frozen=True)
class Grant:
    """What an authorization code stands for until it is exchanged, once."""

    user: str
    client: str
    redirect: str
    challenge: str
    nonce: str


class TooManyTries(Exception):
    """Five wrong codes within a minute; even a right one is refused until the minute is over."""


class IdentityRecords:
    """The file, opened for each step, so that other processes may use it meanwhile."""

    def __init__(self, file: Path, *, now: Callable[[], float] = time.time) -> None:
        self._file = file
        self._now = now
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        with self._open() as db:
            db.executescript(_SCHEMA)

    def user(self, name: str) -> User:
        """The user of that name, made when new. Not a name of 1 to 63 letters, digits or ``._@-``: ValueError."""
        if not _USER_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no user name: 1 to 63 letters, digits or '. _ @ -', a letter or digit first")
        with self._open() as db:
            db.execute("INSERT INTO users VALUES (?, ?) ON CONFLICT DO NOTHING", (name, str(uuid4())))
            row = db.execute("SELECT name, sub FROM users WHERE name = ?", (name,)).fetchone()
        return User(*row)

    def issue_code(self, name: str) -> str:
        """A code of 80 bits that signs this user in once, within 15 minutes."""
        self.user(name)
        letters = [secrets.choice(_CROCKFORD) for _ in range(16)]
        with self._open() as db:
            db.execute("DELETE FROM codes WHERE until < ?", (self._now(),))
            db.execute("INSERT INTO codes VALUES (?, ?, ?)", (_hash("".join(letters)), name, self._now() + _CODE_S))
        return "-".join("".join(letters[at : at + 4]) for at in range(0, 16, 4))

    def redeem_code(self, typed: str) -> str | None:
        """The user whose code this is, which is then used up; None for a wrong one. See TooManyTries."""
        plain = typed.strip().upper().translate(_LOOKS_LIKE)
        with self._open() as db:
            self._refuse_guessing(db)
            user = self._take(db, "DELETE FROM codes WHERE hash = ? AND until > ? RETURNING user", plain)
            if user is None:
                db.execute("INSERT INTO wrong_tries VALUES (?)", (self._now(),))
        return user

    def open_session(self, user: str) -> str:
        """A secret for the browser's cookie, good for 30 days."""
        secret = secrets.token_urlsafe(32)
        with self._open() as db:
            db.execute("DELETE FROM sessions WHERE until < ?", (self._now(),))
            db.execute("INSERT INTO sessions VALUES (?, ?, ?)", (_hash(secret), user, self._now() + _SESSION_S))
        return secret

    def session_user(self, secret: str) -> str | None:
        """Whose session this is; None when it is unknown, over or closed."""
        with self._open() as db:
            return self._take(db, "SELECT user FROM sessions WHERE hash = ? AND until > ?", secret)

    def close_session(self, secret: str) -> None:
        """End the session; silent when there is none."""
        with self._open() as db:
            db.execute("DELETE FROM sessions WHERE hash = ?", (_hash(secret),))

    def add_grant(self, grant: Grant) -> str:
        """An authorization code, good for one exchange within a minute."""
        code = secrets.token_urlsafe(32)
        row = (_hash(code), grant.user, self._now() + _GRANT_S, grant.client, grant.redirect, grant.challenge, grant.nonce)
        with self._open() as db:
            db.execute("DELETE FROM grants WHERE until < ?", (self._now(),))
            db.execute("INSERT INTO grants VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        return code

    def take_grant(self, code: str) -> Grant | None:
        """What the code stands for; used up by asking, right or wrong. None when unknown, used or over."""
        wanted = "DELETE FROM grants WHERE hash = ? AND until > ? RETURNING user, client, redirect, challenge, nonce"
        with self._open() as db:
            row = db.execute(wanted, (_hash(code), self._now())).fetchone()
        return Grant(*row) if row else None

    def _refuse_guessing(self, db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM wrong_tries WHERE at < ?", (self._now() - _WRONG_WITHIN_S,))
        (tries,) = db.execute("SELECT count(*) FROM wrong_tries").fetchone()
        if tries >= _WRONG_TRIES:
            raise TooManyTries

    def _take(self, db: sqlite3.Connection, statement: str, secret: str) -> str | None:
        row = db.execute(statement, (_hash(secret), self._now())).fetchone()
        return str(row[0]) if row else None

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        db = sqlite3.connect(self._file, timeout=10, isolation_level=None)
        try:
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT") if db.in_transaction else None
        finally:
            db.close()


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()

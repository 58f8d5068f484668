"""What the interpreter remembers, in one SQLite file.

A kill of the process loses no committed transaction; a power cut may lose the last few, never the file.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from local_stack.state_machine.definition import Scope

Status = Literal["ready", "again", "calling", "launching", "waiting", "sleeping", "children", "held", "done"]
"""ready: the state is to be entered; again: entered before, its task is to be called (once more); calling, launching: the
function runs, and its answer or its token ends the task; waiting: only the token can; held: an item waits for its turn."""

Value = str | int | float | None

_TABLES = """
CREATE TABLE IF NOT EXISTS machines(
  arn TEXT PRIMARY KEY, name TEXT, definition TEXT, role TEXT, created REAL, updated REAL);
CREATE TABLE IF NOT EXISTS executions(
  id INTEGER PRIMARY KEY AUTOINCREMENT, arn TEXT UNIQUE, machine TEXT, name TEXT, input TEXT, definition TEXT, status TEXT,
  output TEXT, error TEXT, cause TEXT, started REAL, stopped REAL, deadline REAL, events INTEGER DEFAULT 0);
CREATE INDEX IF NOT EXISTS executions_by_machine ON executions(machine, id);
CREATE INDEX IF NOT EXISTS executions_with_deadline ON executions(deadline) WHERE deadline IS NOT NULL;
CREATE TABLE IF NOT EXISTS steps(
  id INTEGER PRIMARY KEY AUTOINCREMENT, execution INTEGER, parent INTEGER, position INTEGER, scope TEXT, state TEXT,
  input TEXT, status TEXT, wake REAL, token TEXT UNIQUE, heartbeat REAL, expires REAL, retries TEXT DEFAULT '{}',
  context TEXT DEFAULT '{}', output TEXT, event INTEGER, entered REAL);
CREATE INDEX IF NOT EXISTS steps_due ON steps(wake, id) WHERE wake IS NOT NULL;
CREATE INDEX IF NOT EXISTS steps_by_parent ON steps(parent, status, position);
CREATE INDEX IF NOT EXISTS steps_by_execution ON steps(execution);
CREATE TABLE IF NOT EXISTS events(
  execution INTEGER, number INTEGER, at REAL, type TEXT, previous INTEGER, details TEXT, PRIMARY KEY(execution, number))
  WITHOUT ROWID;
"""


class AlreadyOpen(Exception):
    """Another process runs the state machines of this file; two would launch every task twice."""


class Closed(Exception):
    """The file was closed before this could be written."""


@dataclass(frozen=True)
class MachineRow:
    """A state machine as created or last updated."""

    arn: str
    name: str
    definition: str
    role: str
    created: float
    updated: float


@dataclass(frozen=True)
class Execution:
    """One run of a machine, with the definition it was started with."""

    id: int
    arn: str
    machine: str
    name: str
    input: str
    definition: str
    status: str
    output: str | None
    error: str | None
    cause: str | None
    started: float
    stopped: float | None
    deadline: float | None
    events: int


@dataclass(frozen=True)
class Step:
    """Where one branch or iteration of an execution is. ``wake``: when the loop has to look at it, None for never."""

    id: int
    execution: int
    parent: int | None
    position: int
    scope: Scope
    state: str
    input: str
    status: Status
    wake: float | None
    token: str | None
    heartbeat: float | None
    expires: float | None
    retries: dict[str, int]
    context: dict[str, JsonValue]
    output: str | None
    event: int
    entered: float | None


@dataclass(frozen=True)
class Event:
    """One line of an execution's history."""

    number: int
    at: float
    type: str
    previous: int
    details: dict[str, JsonValue]


class Records:
    """The file, open. Every method may be called from any thread; those that write only inside ``transaction``."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._closed = False
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=1)
        self._db.row_factory = sqlite3.Row
        try:
            # The exclusive lock is held until close: see AlreadyOpen.
            self._db.executescript("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;" + _TABLES)
        except sqlite3.OperationalError as error:
            self._db.close()
            raise AlreadyOpen(f"{path} cannot be opened ({error}); is another stack running on it?") from error

    def close(self) -> None:
        """Close the file; every method raises Closed afterwards."""
        with self._lock:
            self._closed = True
            self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is kept together, or nothing when an exception leaves it."""
        with self._lock:
            self._check_open()
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise

    def _all(self, query: str, *values: Value) -> list[sqlite3.Row]:
        with self._lock:
            self._check_open()
            return self._db.execute(query, values).fetchall()

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("the state machines are stopped")

    def _one(self, query: str, *values: Value) -> sqlite3.Row | None:
        return next(iter(self._all(query, *values)), None)

    def _insert(self, table: str, row: Mapping[str, Value]) -> int:
        marks = ",".join("?" * len(row))
        query = f"INSERT INTO {table}({','.join(row)}) VALUES({marks})"
        return self._db.execute(query, tuple(row.values())).lastrowid or 0

    def _update(self, table: str, row_id: int, row: Mapping[str, Value]) -> None:
        query = f"UPDATE {table} SET {','.join(f'{column}=?' for column in row)} WHERE id=?"  # noqa: S608  (names are ours)
        self._db.execute(query, (*row.values(), row_id))

    # --- machines

    def machine(self, arn: str) -> MachineRow | None:
        """The machine; None when there is none."""
        row = self._one("SELECT * FROM machines WHERE arn=?", arn)
        return MachineRow(**dict(row)) if row else None

    def machines(self) -> Sequence[MachineRow]:
        """All machines, by name."""
        return [MachineRow(**dict(row)) for row in self._all("SELECT * FROM machines ORDER BY name")]

    def put_machine(self, machine: MachineRow) -> None:
        """Write the machine, over an older one of its ARN."""
        self._db.execute("DELETE FROM machines WHERE arn=?", (machine.arn,))
        self._insert("machines", dict(vars(machine)))

    # --- executions

    def add_execution(self, row: Mapping[str, Value]) -> int:
        """Write a new execution; its number."""
        return self._insert("executions", row)

    def execution(self, key: str | int) -> Execution | None:
        """The execution of this ARN or number; None when there is none."""
        column = "arn" if isinstance(key, str) else "id"
        row = self._one(f"SELECT * FROM executions WHERE {column}=?", key)  # noqa: S608  (one of two names)
        return Execution(**dict(row)) if row else None

    def executions(self, machine: str, status: str | None) -> Sequence[Execution]:
        """The machine's executions, newest first, of one status when it is given."""
        query = "SELECT * FROM executions WHERE machine=? AND (?2 IS NULL OR status=?2) ORDER BY id DESC"
        return [Execution(**dict(row)) for row in self._all(query, machine, status)]

    def overdue(self, now: float) -> Sequence[int]:
        """The executions whose time is over."""
        return [row[0] for row in self._all("SELECT id FROM executions WHERE deadline<=?", now)]

    def end_execution(self, execution: int, row: Mapping[str, Value]) -> None:
        """Write how it ended and forget its steps."""
        self._update("executions", execution, {**row, "deadline": None})
        self._db.execute("DELETE FROM steps WHERE execution=?", (execution,))

    # --- steps

    def add_step(self, row: Mapping[str, Value]) -> int:
        """Write a new step; its number."""
        return self._insert("steps", row)

    def set_step(self, step: int, **row: Value) -> None:
        """Change these columns of the step."""
        self._update("steps", step, row)

    def step(self, step: int) -> Step | None:
        """The step; None when it is over."""
        row = self._one("SELECT * FROM steps WHERE id=?", step)
        return _step(row) if row else None

    def step_of_token(self, token: str) -> Step | None:
        """The step whose task this token can end now; None when there is none."""
        row = self._one("SELECT * FROM steps WHERE token=?", token)
        return _step(row) if row else None

    def due(self, now: float, limit: int) -> Sequence[int]:
        """The steps whose time has come, the longest waiting first."""
        return [row[0] for row in self._all("SELECT id FROM steps WHERE wake<=? ORDER BY wake, id LIMIT ?", now, limit)]

    def next_wake(self) -> float | None:
        """When the next step or deadline is due; None when nothing ever is."""
        rows = self._all("SELECT MIN(wake) FROM steps UNION ALL SELECT MIN(deadline) FROM executions WHERE deadline IS NOT NULL")
        return min((row[0] for row in rows if row[0] is not None), default=None)

    def children(self, parent: int) -> Sequence[Step]:
        """The steps inside a Map or Parallel, by position."""
        return [_step(row) for row in self._all("SELECT * FROM steps WHERE parent=? ORDER BY position", parent)]

    def first_child(self, parent: int, status: Status) -> Step | None:
        """The first child of this status; None when there is none."""
        row = self._one("SELECT * FROM steps WHERE parent=? AND status=? ORDER BY position LIMIT 1", parent, status)
        return _step(row) if row else None

    def all_done(self, parent: int) -> bool:
        """Whether no child has anything left to do."""
        return self._one("SELECT 1 FROM steps WHERE parent=? AND status!='done' LIMIT 1", parent) is None

    def remove_step(self, step: int) -> None:
        """Forget the step."""
        self._db.execute("DELETE FROM steps WHERE id=?", (step,))

    def relaunch(self) -> int:
        """Steps whose function was running are called again, with a new token; how many. For the start of the process."""
        query = "UPDATE steps SET status='again', wake=0, token=NULL, heartbeat=NULL, expires=NULL"
        return self._db.execute(query + " WHERE status IN ('calling', 'launching')").rowcount

    def hear_again_until(self, moment: float) -> None:
        """Give every waiting task at least until then to be heard: nobody could report while nobody listened."""
        later = "UPDATE steps SET wake=MAX(wake, ?1), expires=MAX(expires, ?1) WHERE status='waiting' AND wake IS NOT NULL"
        self._db.execute(later, (moment,))  # MAX of NULL is NULL: a task without an end gets none

    # --- history

    def add_event(self, execution: int, at: float, kind: str, previous: int, details: Mapping[str, JsonValue]) -> int:
        """Write the next line of the history; its number."""
        query = "UPDATE executions SET events=events+1 WHERE id=? RETURNING events"
        number = int(self._db.execute(query, (execution,)).fetchone()[0])
        row = (execution, number, at, kind, previous, json.dumps(details, ensure_ascii=False))
        self._db.execute("INSERT INTO events VALUES(?,?,?,?,?,?)", row)
        return number

    def events(self, execution: int, skip: int = 0, most: int = -1, *, backwards: bool = False) -> Sequence[Event]:
        """The history in order or ``backwards``: at most so many lines (-1: all), after those to skip."""
        query = "SELECT number, at, type, previous, details FROM events WHERE execution=? ORDER BY number"
        rows = self._all(f"{query} {'DESC' if backwards else 'ASC'} LIMIT ? OFFSET ?", execution, most, skip)
        return [Event(row[0], row[1], row[2], row[3], json.loads(row[4])) for row in rows]


def _step(row: sqlite3.Row) -> Step:
    columns = dict(row)
    scope = tuple((str(name), int(number)) for name, number in json.loads(columns["scope"]))
    retries, context = json.loads(columns["retries"]), json.loads(columns["context"])
    return Step(**{**columns, "scope": scope, "retries": retries, "context": context})

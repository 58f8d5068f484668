"""The newest report of every workspace."""

from chalicelib.contracts.report import Report
from local_stack.records.file import Records


class ReportRecords:
    """ReportStore on SQLite; a laptop needs no bucket for its reports."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def next_counter(self, owner: str, workspace: str) -> int:
        """A number higher than any given before for this workspace, from 1."""
        query = """
            INSERT INTO reports (owner, workspace, taken, stored) VALUES (?, ?, 1, 0)
            ON CONFLICT DO UPDATE SET taken = taken + 1 RETURNING taken
        """
        with self._records.writing() as connection:
            return int(connection.execute(query, (owner, workspace)).fetchone()["taken"])

    def store(self, owner: str, report: Report) -> bool:
        """Keep the report unless one with a higher counter is kept; the same one again is kept."""
        query = """
            INSERT INTO reports (owner, workspace, taken, stored, body) VALUES (:owner, :workspace, :counter, :counter, :body)
            ON CONFLICT DO UPDATE SET taken = max(taken, :counter), stored = :counter, body = :body WHERE stored <= :counter
        """
        body = report.model_dump_json()
        values = {"owner": owner, "workspace": report.workspace, "counter": report.counter, "body": body}
        with self._records.writing() as connection:
            return connection.execute(query, values).rowcount > 0

    def newest(self, owner: str, workspace: str) -> tuple[Report | None, int]:
        """The report kept, and the highest counter taken; (None, 0) for a workspace never checked."""
        query = "SELECT taken, body FROM reports WHERE owner = ? AND workspace = ?"
        with self._records.reading() as connection:
            row = connection.execute(query, (owner, workspace)).fetchone()
        if row is None:
            return None, 0
        return None if row["body"] is None else Report.model_validate_json(row["body"]), int(row["taken"])

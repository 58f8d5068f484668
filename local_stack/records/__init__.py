"""The stores of the platform on one SQLite file; one module per port over the shared ``Records``."""

from local_stack.records.accounts import AccountRecords
from local_stack.records.file import Records
from local_stack.records.jobs import JobRecords
from local_stack.records.reports import ReportRecords

__all__ = ["AccountRecords", "JobRecords", "Records", "ReportRecords"]

"""Builders of the nouns that many tests need; every argument has a sensible default."""

from datetime import UTC, datetime, timedelta
from typing import Any

from chalicelib.contracts.job import SERVER, Cause, Job, JobState, ReasonCode, WorkerState

START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def later(seconds: float) -> datetime:
    """So many seconds after START."""
    return START + timedelta(seconds=seconds)


def job(**changes: Any) -> Job:
    """A PENDING job of three workers and five rounds."""
    fields: dict[str, Any] = {
        "id": "job-01kc0000000000000000000000",
        "owner": "ada",
        "bucket": "tutti-ada",
        "workspace": "digits",
        "state": JobState.PENDING,
        "workers": 3,
        "minimum": 2,
        "rounds": 5,
        "gpu_type": "cpu",
        "start_deadline": later(900),
        "created_at": START,
    }
    return Job(**{**fields, **changes})


def running_job(**changes: Any) -> Job:
    """A RUNNING job whose three workers have joined."""
    running = {"state": JobState.RUNNING, "running_at": later(10), "joined": 3, "server_joined": True}
    return job(**{**running, "train_token": "train-token", **changes})


def worker(site: str = "site-1", **changes: Any) -> WorkerState:
    """One worker's row."""
    return WorkerState(**{"site": site, "attempt": 1, **changes})


def server(**changes: Any) -> WorkerState:
    """The central server's row."""
    return worker(SERVER, **changes)


def cause(code: ReasonCode = ReasonCode.TRAINING_RAISED, **changes: Any) -> Cause:
    """A cause with a sentence."""
    return Cause(**{"code": code, "sentence": "it went wrong", **changes})

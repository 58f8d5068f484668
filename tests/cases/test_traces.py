"""Traces of arrivals and heartbeats through the code that decides, with the trace's own clock."""

from datetime import timedelta
from typing import Any

import pytest
from nvflare.apis.client import Client
from nvflare.apis.controller_spec import ClientTask, Task
from nvflare.apis.impl import bcast_manager
from nvflare.apis.shareable import Shareable

from chalicelib.contracts.wizard import FederationStep
from chalicelib.domain.workspaces import minimum_workers
from chalicelib.services import training
from tests.cases.case import Case
from tests.world import World

WINDOW = Case("fl-straggler-window").json("trace.json")
VANISHES = Case("fl-worker-vanishes").json("trace.json")
STEP_S = 10


class Round:
    """One round as NVFLARE's broadcast, which the platform's workflow uses, keeps it. Time passes by making its stamps older."""

    def __init__(self, workers: int, minimum: int, window_s: float) -> None:
        self.task = Task(name="train", data=Shareable())
        self.task.targets = [f"site-{n + 1}" for n in range(workers)]
        self.task.client_tasks = [ClientTask(Client(name, "token"), self.task) for name in self.task.targets]
        self._manager = bcast_manager.BcastTaskManager(self.task, minimum, window_s)

    def arrive(self, worker: int) -> None:
        self.task.client_tasks[worker].result_received_time = 1.0

    def closes(self) -> bool:
        return bool(self._manager.check_task_exit(self.task)[0])

    def wait(self, seconds: float) -> None:
        stamp = bcast_manager._KEY_MIN_RESPS_RCV_TIME
        if self.task.props[stamp] is not None:
            self.task.props[stamp] -= seconds


def played(arrivals: list[float], minimum: int, window_s: float) -> tuple[float, int]:
    """When the round closes and how many answers count."""
    round_, now, step = Round(len(arrivals), minimum, window_s), 0.0, 0.5
    waiting = dict(enumerate(arrivals))
    while now < 1000:
        for worker in [w for w, at in waiting.items() if at <= now]:
            round_.arrive(worker)
            del waiting[worker]
        if round_.closes():
            return now, len(arrivals) - len(waiting)
        round_.wait(step)
        now += step
    raise AssertionError("the round never closed")


@pytest.mark.parametrize("trace", WINDOW["cases"], ids=lambda trace: str(trace["arrivals_s"]))
def test_a_round_closes_with_its_window_or_when_all_are_in(trace: dict[str, Any]) -> None:
    closed, counted = played(trace["arrivals_s"], minimum_workers(WINDOW["workers"]), WINDOW["wait_for_stragglers_s"])
    assert (abs(closed - trace["closes_at_s"]) <= 1, counted) == (True, trace["counted"])


def test_the_window_is_what_the_wizard_writes_by_default() -> None:
    assert FederationStep().wait_for_stragglers_s == WINDOW["wait_for_stragglers_s"]


def test_the_minimum_of_workers_is_as_the_table_says() -> None:
    assert {count: minimum_workers(int(count)) for count in WINDOW["min_clients"]} == WINDOW["min_clients"]


def lived(it: World, trace: dict[str, Any]) -> tuple[str, dict[str, float]]:
    """A job whose workers send these heartbeats, to the end of the longest: its id and when each lost worker was given up."""
    job_id, tokens = it.running(shards=trace["workers"])
    beats, seq, lost = trace["heartbeats_s"], dict.fromkeys(tokens, 2), dict[str, float]()
    for now in range(0, max(times[-1] for times in beats.values()) + 1, STEP_S):
        for site, token in tokens.items():
            if now % 60 == 0 if site == "server" else now in beats[site]:
                it.tell(token, {"type": "heartbeat"}, seq=seq[site])
                seq[site] += 1
        it.tick(STEP_S)
        for worker in it.app.jobs.workers(job_id, 1):
            if worker.failed and worker.site not in lost:
                lost[worker.site] = now + STEP_S
        if it.show(job_id)["ending"]:
            break
    return job_id, lost


@pytest.fixture(params=VANISHES["cases"], ids=lambda trace: f"{trace['workers']} workers")
def trace(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = request.param
    return found


def test_a_worker_that_vanishes_is_lost_in_time_and_the_job_comes_to_the_right_end(it: World, trace: dict[str, Any]) -> None:
    job_id, lost = lived(it, trace)
    assert it.app.jobs.get(job_id).heartbeat_timeout_s == VANISHES["heartbeat_timeout_s"]
    assert set(lost) == set(trace["lost"])
    assert all(1080 <= at <= 1140 for at in lost.values()), lost
    if trace["job"] == "FINISHED":
        assert (it.show(job_id)["state"], it.show(job_id)["ending"]) == ("RUNNING", None)
        return
    it.compute.everybody_leaves()
    training.release(job_id, it.steps)
    reason = it.show(job_id)["reason"]
    assert (it.show(job_id)["state"], reason["code"], [reason["site"]]) == ("FAILED", "worker_silent", list(trace["lost"]))


def test_a_vanished_worker_is_stopped_so_that_nothing_is_paid_for_it_any_more(it: World, trace: dict[str, Any]) -> None:
    job_id, lost = lived(it, trace)
    assert {f"{job_id}/1/{site}" for site in lost} <= set(it.compute.stopped)


def test_nobody_runs_for_ever_once_the_last_worker_is_gone(it: World) -> None:
    job_id, _ = it.running(shards=2)
    for _ in range(3):
        it.tick(timedelta(minutes=11).total_seconds())
    assert it.show(job_id)["ending"] is not None

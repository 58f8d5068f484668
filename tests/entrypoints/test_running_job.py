"""A job's life through the doors: workers report, the user watches, ends are true."""

import json

import pytest

from chalicelib.contracts.account import WorkerPrincipal
from chalicelib.contracts.job import ReasonCode
from chalicelib.contracts.worker import Role
from chalicelib.domain import object_keys
from chalicelib.domain.errors import JobCannotGoOn, StillStopping
from chalicelib.ports import WorkerExit, WorkerSpec
from chalicelib.services import progress, training
from chalicelib.services.account import hashed
from tests.world import World

ROUND = {
    "type": "round_done",
    "round": 0,
    "sites": {
        "site-1": {"accepted": True, "samples": 10, "metrics": {"loss": 1.0}},
        "site-2": {"accepted": True, "samples": 30, "metrics": {"loss": 2.0}},
        "site-3": {"accepted": False, "refused": {"code": "update_refused", "sentence": "it holds NaN"}},
    },
    "seconds": 1.5,
}


ROUNDS = [{**ROUND, "round": number} for number in range(5)]
"""Every round of a workspace with the wizard's defaults."""
END = {"type": "finished", "model_size": 5, "rounds": 5}


def exits(world: World, job_id: str, site: str, status: int | None) -> None:
    app = world.app
    exit_ = WorkerExit(job_id=job_id, attempt=1, site=site, status=status)
    progress.worker_exited(exit_, jobs=app.jobs, workflow=app.workflow, clock=app.clock, ids=app.ids)


def finish(world: World, job_id: str, token: str) -> None:
    """The server's last events, the model in place, and the machine's last steps."""
    job = world.app.jobs.get(job_id)
    world.objects.put(job.bucket, object_keys.job_model(job.workspace, job_id), b"model")
    world.tell(token, *ROUNDS, END, seq=2)
    training.collect(job_id, world.steps)
    world.compute.everybody_leaves()
    training.release(job_id, world.steps)


def test_a_job_turns_running_when_everybody_has_joined(world: World) -> None:
    job_id, _ = world.running()
    assert world.show(job_id)["state"] == "RUNNING"


def test_the_servers_joining_answers_the_waiting_task(world: World) -> None:
    world.running()
    assert world.workflow.succeeded == ["server-task"]


def test_the_end_of_training_answers_the_waiting_task(world: World) -> None:
    _, tokens = world.running()
    world.tell(tokens["server"], *ROUNDS, END, seq=2)
    assert world.workflow.succeeded == ["server-task", "train-task"]


def test_a_finished_job_has_its_model_where_users_look_first(world: World) -> None:
    job_id, tokens = world.running()
    finish(world, job_id, tokens["server"])
    assert world.show(job_id)["state"] == "FINISHED"
    assert world.objects.read(world.bucket(), "jobs/digits/model_out/GLOBAL_MODEL.pt") == b"model"


def test_metrics_json_holds_every_rounds_numbers(world: World) -> None:
    job_id, tokens = world.running()
    finish(world, job_id, tokens["server"])
    raw = world.objects.read(world.bucket(), object_keys.metrics("digits", job_id))
    assert json.loads(raw)["rounds"][0]["metrics"]["server"] == {"loss": 1.75}


def test_a_round_shows_who_was_refused_and_why(world: World) -> None:
    job_id, tokens = world.running()
    world.tell(tokens["server"], ROUND, seq=2)
    shown = world.call("GET", f"/jobs/{job_id}/rounds").body["rounds"][0]
    assert (shown["accepted"], shown["refused"]) == (["site-1", "site-2"], {"site-3": "it holds NaN"})


def test_a_model_that_is_not_there_fails_the_job(world: World) -> None:
    job_id, tokens = world.running()
    world.tell(tokens["server"], *ROUNDS, END, seq=2)
    with pytest.raises(JobCannotGoOn):
        training.collect(job_id, world.steps)
    world.compute.everybody_leaves()
    training.release(job_id, world.steps)
    assert world.show(job_id)["reason"]["code"] == ReasonCode.MODEL_INVALID


def test_an_empty_model_fails_the_job(world: World) -> None:
    job_id, tokens = world.running()
    world.objects.put(world.bucket(), object_keys.job_model("digits", job_id), b"")
    world.tell(tokens["server"], *ROUNDS, END, seq=2)
    with pytest.raises(JobCannotGoOn):
        training.collect(job_id, world.steps)
    assert world.show(job_id)["ending"]["code"] == ReasonCode.MODEL_INVALID


def test_a_server_that_finishes_before_its_last_round_is_not_believed(world: World) -> None:
    job_id, tokens = world.running()
    world.tell(tokens["server"], ROUND, END, seq=2)
    assert world.show(job_id)["ending"]["code"] == ReasonCode.MODEL_INVALID


def test_a_worker_whose_start_was_never_written_down_is_stopped_too(world: World) -> None:
    job_id = world.launched()
    job = world.app.jobs.get(job_id)
    spec = WorkerSpec(job_id=job.id, attempt=1, site="site-1", role=Role.CLIENT, code="c", gpu_type="cpu", threads=1)
    handle = world.compute.start(spec)
    world.call("POST", f"/jobs/{job_id}/cancel")
    with pytest.raises(StillStopping):
        training.release(job_id, world.steps)
    assert world.compute.stopped == [handle]


def test_a_worker_code_is_worth_nothing_once_the_job_has_ended(world: World) -> None:
    job_id, tokens = world.running()
    finish(world, job_id, tokens["server"])
    world.app.accounts.add_worker_code(hashed("late"), WorkerPrincipal(job_id=job_id, attempt=1, site="site-1", role="client"))
    answer = world.call("POST", "/worker/token", {"code": "late", "nonce": "n" * 16}, user=None)
    assert answer.status == 401


def test_metrics_that_cannot_be_written_do_not_keep_a_job_from_ending(world: World) -> None:
    job_id, _ = world.running()
    world.call("POST", f"/jobs/{job_id}/cancel")
    world.compute.everybody_leaves()
    world.objects.refuse_puts_to(world.bucket())
    training.release(job_id, world.steps)
    assert world.show(job_id)["state"] == "CANCELLED"


def test_an_update_refused_in_a_good_round_is_not_blamed_for_a_later_loss(world: World) -> None:
    job_id, tokens = world.running()
    world.tell(tokens["server"], ROUND, seq=2)
    exits(world, job_id, "site-1", -9)
    exits(world, job_id, "site-2", -9)
    assert world.show(job_id)["ending"]["code"] == "process_killed"


def test_the_job_page_of_a_thousand_failures_carries_no_tracebacks(world: World) -> None:
    job_id, tokens = world.running()
    cause = {"code": "training_raised", "sentence": "no", "evidence": ["line"] * 40}
    world.tell(tokens["site-1"], {"type": "failed", "cause": cause}, seq=2)
    workers = world.call("GET", f"/jobs/{job_id}/live?after=0").body["workers"]
    assert [row["failed"]["evidence"] for row in workers if row["failed"]] == [[]]


def test_release_waits_until_every_worker_is_gone(world: World) -> None:
    job_id, _ = world.running()
    with pytest.raises(StillStopping):
        training.release(job_id, world.steps)
    assert len(world.compute.stopped) == 4


def test_the_workers_are_given_back_at_the_end(world: World) -> None:
    job_id, tokens = world.running()
    finish(world, job_id, tokens["server"])
    assert world.call("GET", "/offers").body["offers"][0]["free"] == 4


def test_the_kits_are_deleted_at_the_end(world: World) -> None:
    job_id, tokens = world.running()
    world.objects.put("tutti-platform", object_keys.kit(job_id, 1, "site-1"), b"kit")
    finish(world, job_id, tokens["server"])
    assert world.objects.list("tutti-platform", object_keys.kits(job_id)).objects == ()


def test_a_workers_token_dies_with_its_job(world: World) -> None:
    job_id, tokens = world.running()
    finish(world, job_id, tokens["server"])
    assert world.tell(tokens["site-1"], {"type": "heartbeat"}, seq=2).status in (401, 403)


def test_cancelling_tells_the_workers_at_their_next_call(world: World) -> None:
    job_id, tokens = world.running()
    world.call("POST", f"/jobs/{job_id}/cancel")
    assert world.tell(tokens["site-1"], {"type": "heartbeat"}, seq=2).body["commands"] == ["stop"]


def test_cancelling_fails_the_waiting_task(world: World) -> None:
    job_id, _ = world.running()
    world.call("POST", f"/jobs/{job_id}/cancel")
    assert ("train-task", "cancelled_by_user") in world.workflow.failed


def test_a_cancelled_job_ends_cancelled(world: World) -> None:
    job_id, _ = world.running()
    world.call("POST", f"/jobs/{job_id}/cancel")
    training.fail(job_id, "cancelled_by_user", "", world.steps)
    world.compute.everybody_leaves()
    training.release(job_id, world.steps)
    assert world.show(job_id)["state"] == "CANCELLED"


def test_cancelling_a_finished_job_changes_nothing(world: World) -> None:
    job_id, tokens = world.running()
    finish(world, job_id, tokens["server"])
    assert world.call("POST", f"/jobs/{job_id}/cancel").body["state"] == "FINISHED"


def test_a_job_cancelled_while_its_workers_start_starts_no_more(world: World) -> None:
    job_id = world.launched()
    world.call("POST", f"/jobs/{job_id}/cancel")
    with pytest.raises(JobCannotGoOn):
        training.start_worker(job_id, "site-1", world.steps)


def test_events_sent_twice_are_stored_once(world: World) -> None:
    job_id, tokens = world.running()
    world.tell(tokens["server"], ROUND, seq=2)
    world.tell(tokens["server"], ROUND, seq=2)
    kinds = [item["change"]["kind"] for item in world.call("GET", f"/jobs/{job_id}/live?after=0").body["feed"]]
    assert kinds.count("round_ended") == 1


def test_a_batch_that_leaves_a_gap_is_asked_for_again(world: World) -> None:
    _, tokens = world.running()
    answer = world.tell(tokens["site-1"], {"type": "heartbeat"}, seq=9)
    assert answer.body["accepted_seq"] == 1


def test_a_killed_worker_below_the_minimum_ends_the_job_by_name(world: World) -> None:
    job_id, _ = world.running()
    exits(world, job_id, "site-2", -9)
    exits(world, job_id, "site-3", -9)
    ending = world.show(job_id)["ending"]
    assert (ending["code"], ending["site"]) == ("process_killed", "site-2")


def test_a_lost_server_ends_the_job(world: World) -> None:
    job_id, _ = world.running()
    exits(world, job_id, "server", None)
    assert world.show(job_id)["ending"]["code"] == "server_lost"


def test_a_shard_replaced_after_the_launch_ends_the_job(world: World) -> None:
    job_id = world.launched()
    world.objects.put(world.bucket(), "jobs/digits/shards/shard_1.zip", b"other bytes")
    with pytest.raises(JobCannotGoOn):
        training.prepare(job_id, world.steps)
    assert world.show(job_id)["ending"]["file"] == "shards/shard_1.zip"


def test_nothing_new_is_answered_with_almost_nothing(world: World) -> None:
    job_id, _ = world.running()
    seq = world.call("GET", f"/jobs/{job_id}/live?after=0").body["seq"]
    quiet = world.call("GET", f"/jobs/{job_id}/live?after={seq}").body
    assert len(json.dumps(quiet)) < 200


def test_the_feed_names_the_workers_it_concerns(world: World) -> None:
    job_id, tokens = world.running()
    seq = world.call("GET", f"/jobs/{job_id}/live?after=0").body["seq"]
    world.tell(tokens["site-2"], {"type": "phase", "phase": "training", "round": 0}, seq=2)
    live = world.call("GET", f"/jobs/{job_id}/live?after={seq}").body
    assert [row["site"] for row in live["workers"]] == ["site-2"]


def test_an_ended_job_asks_for_no_further_call(world: World) -> None:
    job_id, tokens = world.running()
    finish(world, job_id, tokens["server"])
    assert world.call("GET", f"/jobs/{job_id}/live?after=0").body["next_in_ms"] is None


def test_log_segments_are_listed_with_signed_urls(world: World) -> None:
    job_id, tokens = world.running()
    world.tell(tokens["site-1"], {"type": "log_segment", "number": 0, "lines": 3, "bytes": 90}, seq=2)
    segment = world.call("GET", f"/jobs/{job_id}/logs?source=site-1").body["segments"][0]
    assert f"files_out/{job_id}/logs/attempt-1/site-1/0.ndjson" in segment["url"]


def test_the_inputs_of_a_running_job_cannot_be_deleted(world: World) -> None:
    job_id, _ = world.running()
    answer = world.call("POST", "/files/delete", {"keys": ["jobs/digits/shards/shard_0.zip"]}).body
    assert (answer["deleted"], job_id in answer["refused"]["jobs/digits/shards/shard_0.zip"]) == ([], True)

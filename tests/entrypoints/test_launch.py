"""Launching through the doors."""

import json

import pytest

from chalicelib.contracts.job import JobState
from chalicelib.domain import object_keys
from chalicelib.domain.launch import heartbeat_limit
from tests.world import Answer, World


def test_a_clean_workspace_is_launched_with_one_worker_per_shard(world: World) -> None:
    world.workspace(shards=3)
    answer = world.launch()
    assert (answer.status, answer.body["state"], answer.body["workers"], answer.body["minimum"]) == (201, "PENDING", 3, 2)


def test_the_workflow_is_started_with_the_jobs_id(world: World) -> None:
    job_id = world.launched()
    assert world.workflow.started == [job_id]


def test_the_same_client_token_gives_the_same_job(world: World) -> None:
    world.workspace()
    assert world.launch().body["id"] == world.launch().body["id"]


def test_the_same_client_token_for_another_workspace_is_a_conflict(world: World) -> None:
    world.workspace("one")
    world.workspace("two")
    world.launch("one")
    answer = world.launch("two")
    assert (answer.status, answer.body["error"]["code"]) == (409, "client_token_reused")


def test_the_same_launch_asked_twice_at_once_gives_one_job(world: World) -> None:
    world.workspace(shards=1)
    answers: list[Answer] = []
    world.objects.before_put = lambda _: answers.append(world.launch())
    answers.append(world.launch())
    assert (len({answer.body["id"] for answer in answers}), len(answers)) == (1, 2)
    assert world.call("GET", "/offers").body["offers"][0]["free"] == 3


@pytest.mark.parametrize(("asked", "kept"), [(3, 30), (600, 600), (10**31, 10_000_000)])
def test_a_heartbeat_timeout_is_kept_within_what_workers_and_machine_can_do(asked: int, kept: int) -> None:
    assert heartbeat_limit(asked, workers=3, heartbeat_s=5) == kept


def test_a_second_job_of_a_busy_workspace_is_a_conflict(world: World) -> None:
    world.launched()
    answer = world.launch(client_token="token-0002")
    assert (answer.status, answer.body["error"]["code"]) == (409, "workspace_busy")


def test_a_missing_model_def_blocks_the_launch_and_is_named(world: World) -> None:
    prefix = world.workspace()
    world.objects.delete(world.bucket(), [f"{prefix}scripts/model_def.py"])
    answer = world.launch()
    assert (answer.status, answer.body["error"]["code"]) == (409, "report_has_errors")
    assert "scripts/model_def.py" in answer.body["error"]["fields"]


def test_a_refused_launch_holds_no_workers(world: World) -> None:
    prefix = world.workspace()
    world.objects.delete(world.bucket(), [f"{prefix}scripts/model_def.py"])
    world.launch()
    assert world.call("GET", "/offers").body["offers"][0]["free"] == 4


def test_more_shards_than_free_workers_is_refused_with_the_free_count(world: World) -> None:
    world.workspace(shards=5)
    answer = world.launch()
    assert (answer.status, answer.body["error"]["code"]) == (409, "no_capacity")
    assert "4" in answer.body["error"]["message"]


def test_a_workspace_that_is_not_there_is_not_found(world: World) -> None:
    world.bucket()
    assert world.launch("nothing").status == 404


def test_a_user_without_a_bucket_is_sent_to_make_one(world: World) -> None:
    answer = world.launch()
    assert (answer.status, answer.body["error"]["code"]) == (409, "no_bucket")


def test_an_unknown_field_of_the_request_is_refused_by_name(world: World) -> None:
    world.workspace()
    answer = world.call("POST", "/jobs", {"workspace": "digits", "client_token": "token-0001", "gpus": 4})
    assert (answer.status, list(answer.body["error"]["fields"])) == (422, ["gpus"])


def test_the_launched_copy_lies_out_of_the_users_reach(world: World) -> None:
    job_id = world.launched()
    raw = world.objects.read("tutti-platform", object_keys.launched_zip(job_id, 1))
    assert raw.startswith(b"PK")


def test_the_launched_files_show_what_the_platform_changed(world: World) -> None:
    job_id = world.launched()
    files = world.call("GET", f"/jobs/{job_id}/launched").body["files"]
    meta = next(file for file in files if file["path"].endswith("meta.json"))
    assert json.loads(meta["text"])["min_clients"] == 2


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_jobs_need_a_signed_in_user(world: World, method: str) -> None:
    assert world.call(method, "/jobs", {} if method == "POST" else None, user=None).status in (401, 403)


def test_a_users_jobs_are_listed_newest_first(world: World) -> None:
    first = world.launched()
    world.call("POST", f"/jobs/{first}/cancel")
    world.workspace("second", shards=1)
    second = world.launch("second", client_token="token-0002").body["id"]
    listed = [job["id"] for job in world.call("GET", "/jobs").body["jobs"]]
    assert listed == [second, first]


def test_a_pending_job_shows_its_state(world: World) -> None:
    assert world.show(world.launched())["state"] == JobState.PENDING

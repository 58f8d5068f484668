"""What a worker may ask, and what it may not."""

import pytest

from tests.world import World


def ask(world: World, token: str, kind: str, name: str = "", size: int | None = None) -> tuple[int, str]:
    """(status, URL or error code) of one wish."""
    wish = {"kind": kind, "name": name, "size": size}
    answer = world.call("POST", "/worker/urls", {"wishes": [wish]}, user=None, token=token)
    return answer.status, answer.body["urls"][0]["url"] if answer.status == 200 else answer.body["error"]["code"]


def test_a_code_is_good_for_one_nonce_only(world: World) -> None:
    job_id = world.launched()
    world.start_workers(job_id)
    code = world.compute.started[0].code
    answer = world.call("POST", "/worker/token", {"code": code, "nonce": "x" * 16}, user=None)
    assert answer.status == 401


def test_the_same_nonce_may_ask_again_when_the_answer_was_lost(world: World) -> None:
    job_id = world.launched()
    world.start_workers(job_id)
    token = world.redeem(world.compute.started[0].code)
    assert world.call("GET", "/worker/assignment", user=None, token=token).status == 200


def test_a_client_is_given_its_own_shard_pinned_to_a_version(world: World) -> None:
    _, tokens = world.running()
    shard = world.call("GET", "/worker/assignment", user=None, token=tokens["site-2"]).body["shard"]
    assert (shard["name"], "version=v" in shard["url"]) == ("shard_1.zip", True)


def test_the_server_is_given_every_site_and_no_shard(world: World) -> None:
    _, tokens = world.running()
    found = world.call("GET", "/worker/assignment", user=None, token=tokens["server"]).body
    assert (found["sites"], found["shard"]) == (["site-1", "site-2", "site-3"], None)


def test_a_client_is_told_where_the_server_listens(world: World) -> None:
    _, tokens = world.running()
    found = world.call("GET", "/worker/assignment", user=None, token=tokens["site-1"]).body
    assert found["server_address"] == "127.0.0.1:9"


def test_a_client_reads_its_own_kit_whatever_name_it_asks_for(world: World) -> None:
    job_id, tokens = world.running()
    world.objects.put("tutti-platform", f"runs/{job_id}/kits/attempt-1/site-1.zip", b"kit")
    assert f"/runs/{job_id}/kits/attempt-1/site-1.zip?" in ask(world, tokens["site-1"], "kit_get", "site-2")[1]


def test_a_kit_that_is_not_there_yet_is_not_found(world: World) -> None:
    _, tokens = world.running()
    assert ask(world, tokens["site-1"], "kit_get")[0] == 404


@pytest.mark.parametrize("kind", ["kit_put", "model", "best", "round"])
def test_a_client_may_not_write_what_is_the_servers(world: World, kind: str) -> None:
    _, tokens = world.running()
    assert ask(world, tokens["site-1"], kind, "0") == (403, "forbidden")


@pytest.mark.parametrize("name", ["../other.txt", "/etc/passwd", "a//b", "a/../../b", ""])
def test_a_file_cannot_be_put_outside_the_workers_own_folder(world: World, name: str) -> None:
    _, tokens = world.running()
    assert ask(world, tokens["site-1"], "file", name) == (422, "invalid_request")


def test_a_log_goes_to_the_workers_own_folder(world: World) -> None:
    job_id, tokens = world.running()
    url = ask(world, tokens["site-1"], "log", "7")[1]
    assert f"/jobs/digits/files_out/{job_id}/logs/attempt-1/site-1/7.ndjson?" in url


@pytest.mark.parametrize("name", ["-1", "1.5", "x", "²", ""])
def test_a_log_segment_needs_a_number(world: World, name: str) -> None:
    _, tokens = world.running()
    assert ask(world, tokens["site-1"], "log", name) == (422, "invalid_request")


def test_a_model_above_five_gigabytes_is_uploaded_in_parts(world: World) -> None:
    _, tokens = world.running()
    body = {"wishes": [{"kind": "model", "size": 6 * 10**9}]}
    url = world.call("POST", "/worker/urls", body, user=None, token=tokens["server"]).body["urls"][0]
    assert len(url["parts"]) == -(-6 * 10**9 // url["part_size"])


def test_a_worker_token_opens_none_of_the_users_doors(world: World) -> None:
    job_id, tokens = world.running()
    assert world.call("GET", f"/jobs/{job_id}", user=None, token=tokens["site-1"]).status in (401, 403)


def test_a_users_key_opens_none_of_the_workers_doors(world: World) -> None:
    world.running()
    assert world.call("GET", "/worker/assignment").status in (401, 403)


def test_a_worker_of_an_earlier_attempt_is_superseded(world: World) -> None:
    job_id, tokens = world.running()
    job = world.app.jobs.get(job_id)
    row = world.app.jobs.worker(job_id, 1, "site-1").model_copy(update={"attempt": 2})
    world.app.jobs.commit(job.model_copy(update={"attempt": 2}), changes=(), workers=(row,), at=world.clock.now())
    answer = world.tell(tokens["site-1"], {"type": "heartbeat"}, seq=2)
    assert (answer.status, answer.body["error"]["code"]) == (409, "superseded")


def test_more_than_a_hundred_events_are_refused(world: World) -> None:
    _, tokens = world.running()
    assert world.tell(tokens["site-1"], *[{"type": "heartbeat"}] * 101, seq=2).status == 422

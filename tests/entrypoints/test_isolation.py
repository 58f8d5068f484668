"""Two users cannot see each other: whatever the other asks for is as absent as if it never was."""

import pytest

from tests.world import World

JOB_DOORS = [
    ("GET", "/jobs/{job}"),
    ("GET", "/jobs/{job}/live?after=0"),
    ("GET", "/jobs/{job}/rounds"),
    ("GET", "/jobs/{job}/launched"),
    ("GET", "/jobs/{job}/logs"),
    ("POST", "/jobs/{job}/cancel"),
    ("POST", "/jobs/{job}/model"),
]


@pytest.mark.parametrize(("method", "path"), JOB_DOORS)
def test_another_users_job_is_not_found(world: World, method: str, path: str) -> None:
    job_id, _ = world.running()
    world.bucket("bob")
    assert world.call(method, path.format(job=job_id), user="bob").status == 404


def test_every_door_of_a_job_is_tried() -> None:
    from app import app

    doors = {(method, path) for path, methods in app.routes.items() for method in methods if "{job_id}" in path}
    tried = {(method, path.split("?")[0].replace("{job}", "{job_id}")) for method, path in JOB_DOORS}
    assert doors == tried


def test_two_users_have_two_buckets(world: World) -> None:
    assert world.bucket("ada") != world.bucket("bob")


def test_a_user_lists_only_the_own_bucket(world: World) -> None:
    world.workspace(user="ada")
    world.bucket("bob")
    assert world.call("GET", "/files?prefix=jobs/", user="bob").body["objects"] == []


@pytest.mark.parametrize("path", ["", "/report", "/built", "/file?path=configs/meta.json"])
def test_another_users_workspace_is_not_found(world: World, path: str) -> None:
    world.workspace("digits", user="ada")
    world.bucket("bob")
    answer = world.call("GET", f"/workspaces/digits{path}", user="bob")
    assert answer.status == 404 or not answer.body["cards"][0]["count"]


def test_another_users_upload_is_not_found(world: World) -> None:
    world.bucket("ada")
    world.bucket("bob")
    upload = world.call("POST", "/uploads", {"key": "jobs/d/shards/a.zip", "size": 3}, user="ada").body["id"]
    assert world.call("POST", f"/uploads/{upload}/sign", {"numbers": [1]}, user="bob").status == 404


def test_a_download_is_signed_in_the_own_bucket_only(world: World) -> None:
    world.workspace("digits", user="ada")
    world.bucket("bob")
    body = {"key": "jobs/digits/configs/meta.json"}
    assert world.call("POST", "/files/download", body, user="bob").status == 404


def test_another_users_key_cannot_be_revoked(world: World) -> None:
    world.token("ada")
    key = world.call("GET", "/me/keys", user="ada").body["keys"][0]["id"]
    assert world.call("DELETE", f"/me/keys/{key}", user="bob").status == 404


def test_jobs_of_others_are_not_listed(world: World) -> None:
    world.launched(user="ada")
    assert world.call("GET", "/jobs", user="bob").body["jobs"] == []


def test_an_event_of_an_unknown_bucket_checks_nothing(world: World) -> None:
    world.objects.create_bucket("stranger", origins=())
    world.put("stranger", "jobs/digits/scripts/model_def.py", b"x")
    assert ("read", "jobs/digits/scripts/model_def.py") not in world.objects.requests

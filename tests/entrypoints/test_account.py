"""The signed-in user, the bucket, the keys."""

from chalicelib.services.bucket import PAGES
from tests.world import World


def test_a_new_user_has_no_bucket(world: World) -> None:
    told = world.call("GET", "/me").body
    assert (told["user"], told["name"], told["bucket"]) == ("sub-ada", "ada", None)


def test_a_new_user_is_told_where_the_bucket_will_be(world: World) -> None:
    region = world.call("GET", "/me").body["region"]
    world.bucket()
    assert world.call("GET", "/me/bucket").body["region"] == region


def test_a_bucket_is_created_once(world: World) -> None:
    assert world.bucket() == world.bucket()


def test_a_missing_bucket_says_where_to_make_one(world: World) -> None:
    answer = world.call("GET", "/me/bucket")
    assert (answer.status, "profile page" in answer.body["error"]["hint"]) == (409, True)


def test_a_keys_secret_is_shown_once(world: World) -> None:
    made = world.call("POST", "/me/keys", {"label": "laptop"}).body
    listed = world.call("GET", "/me/keys").body["keys"]
    assert made["secret"].startswith("tutti_")
    assert all("secret" not in key for key in listed)


def test_a_revoked_key_opens_nothing(world: World) -> None:
    made = world.call("POST", "/me/keys", {}).body
    world.call("DELETE", f"/me/keys/{made['id']}")
    assert world.call("GET", "/me", user=None, token=made["secret"]).status in (401, 403)


def test_bucket_credentials_name_the_bucket_they_open(world: World) -> None:
    bucket = world.bucket()
    assert world.call("POST", "/me/bucket/credentials").body["bucket"] == bucket


def test_usage_is_counted_by_workspace_and_folder(world: World) -> None:
    bucket = world.bucket()
    for key, size in (("jobs/d/shards/a.zip", 3), ("jobs/d/shards/b/c.zip", 4), ("jobs/d/note.txt", 1), ("elsewhere.txt", 2)):
        world.objects.put(bucket, key, b"x" * size)
    folders = world.call("GET", "/me/bucket/usage").body["folders"]
    told = {(row["workspace"], row["folder"]): (row["objects"], row["bytes"]) for row in folders}
    assert told == {("d", "shards"): (2, 7), ("d", ""): (1, 1), ("", ""): (1, 2)}


def test_a_large_bucket_is_counted_in_stretches(world: World) -> None:
    bucket = world.bucket()
    for number in range(PAGES * 1000 + 1):
        world.objects.put(bucket, f"jobs/d/shards/{number:05}.zip", b"x")
    first = world.call("GET", "/me/bucket/usage").body
    second = world.call("GET", f"/me/bucket/usage?cursor={first['cursor']}").body
    assert [page["folders"][0]["objects"] for page in (first, second)] + [second["cursor"]] == [PAGES * 1000, 1, None]


def test_a_half_upload_is_listed_with_the_bytes_it_holds(world: World) -> None:
    world.bucket()
    upload = world.call("POST", "/uploads", {"key": "jobs/d/shards/a.zip", "size": 3}).body["id"]
    url = world.call("POST", f"/uploads/{upload}/sign", {"numbers": [1]}).body["urls"][0]["url"]
    world.objects.put_part(url, b"abc")
    half = world.call("GET", "/me/bucket/uploads").body["uploads"]
    assert [(row["key"], row["bytes"]) for row in half] == [("jobs/d/shards/a.zip", 3)]


def test_a_dropped_half_upload_is_gone(world: World) -> None:
    world.bucket()
    world.call("POST", "/uploads", {"key": "jobs/d/shards/a.zip", "size": 3})
    half = world.call("GET", "/me/bucket/uploads").body["uploads"][0]
    world.call("POST", "/me/bucket/uploads/drop", {"uploads": [{"key": half["key"], "id": half["id"]}]})
    assert world.call("GET", "/me/bucket/uploads").body["uploads"] == []


def test_the_half_uploads_of_somebody_else_are_not_listed(world: World) -> None:
    world.bucket()
    world.bucket("bob")
    world.call("POST", "/uploads", {"key": "jobs/d/shards/a.zip", "size": 3})
    assert world.call("GET", "/me/bucket/uploads", user="bob").body["uploads"] == []


def test_an_answer_is_never_cached(world: World) -> None:
    assert world.call("GET", "/me").headers["Cache-Control"] == "no-store"


def test_every_error_carries_its_request_id(world: World) -> None:
    answer = world.call("GET", "/jobs/job-none", headers={"X-Request-Id": "abc-123"})
    assert (answer.body["error"]["request_id"], answer.headers["X-Request-Id"]) == ("abc-123", "abc-123")

"""The signed-in user, the bucket, the keys."""

from tests.world import World


def test_a_new_user_has_no_bucket(world: World) -> None:
    assert world.call("GET", "/me").body == {"user": "sub-ada", "name": "ada", "bucket": None}


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


def test_an_answer_is_never_cached(world: World) -> None:
    assert world.call("GET", "/me").headers["Cache-Control"] == "no-store"


def test_every_error_carries_its_request_id(world: World) -> None:
    answer = world.call("GET", "/jobs/job-none", headers={"X-Request-Id": "abc-123"})
    assert (answer.body["error"]["request_id"], answer.headers["X-Request-Id"]) == ("abc-123", "abc-123")

"""Uploads through the doors: signed parts, completion by the store's own listing."""

import pytest

from chalicelib.domain.uploads import MIB
from tests.world import World


def start(world: World, size: int, key: str = "jobs/digits/shards/a.zip") -> dict[str, object]:
    world.bucket()
    body: dict[str, object] = world.call("POST", "/uploads", {"key": key, "size": size}).body
    return body


def send(world: World, upload: dict[str, object], number: int, data: bytes) -> None:
    url = world.call("POST", f"/uploads/{upload['id']}/sign", {"numbers": [number]}).body["urls"][0]["url"]
    world.objects.put_part(url, data)


def test_a_small_file_is_one_part(world: World) -> None:
    upload = start(world, 3)
    send(world, upload, 1, b"abc")
    assert world.call("POST", f"/uploads/{upload['id']}/complete").body["size"] == 3


def test_completing_twice_gives_the_object_that_was_made(world: World) -> None:
    upload = start(world, 3)
    send(world, upload, 1, b"abc")
    first = world.call("POST", f"/uploads/{upload['id']}/complete").body
    assert world.call("POST", f"/uploads/{upload['id']}/complete").body == first


def test_an_empty_file_is_one_empty_part(world: World) -> None:
    upload = start(world, 0)
    send(world, upload, 1, b"")
    assert world.call("POST", f"/uploads/{upload['id']}/complete").body["size"] == 0


def test_an_upload_with_a_missing_part_is_not_completed(world: World) -> None:
    upload = start(world, 9 * MIB)
    send(world, upload, 1, b"x" * 8 * MIB)
    answer = world.call("POST", f"/uploads/{upload['id']}/complete")
    assert (answer.status, answer.body["error"]["fields"]["part"]) == (409, "2")


def test_the_stores_own_parts_are_listed_for_a_resume(world: World) -> None:
    upload = start(world, 9 * MIB)
    send(world, upload, 2, b"x" * MIB)
    parts = world.call("GET", f"/uploads/{upload['id']}/parts").body["parts"]
    assert [(part["number"], part["size"]) for part in parts] == [(2, MIB)]


def test_an_aborted_upload_is_gone(world: World) -> None:
    upload = start(world, 3)
    assert world.call("DELETE", f"/uploads/{upload['id']}").status == 204
    assert world.call("POST", f"/uploads/{upload['id']}/complete").status == 404


def test_a_part_outside_the_file_is_not_signed(world: World) -> None:
    upload = start(world, 3)
    assert world.call("POST", f"/uploads/{upload['id']}/sign", {"numbers": [2]}).status == 422


def test_more_than_a_hundred_parts_are_not_signed_at_once(world: World) -> None:
    upload = start(world, 3)
    assert world.call("POST", f"/uploads/{upload['id']}/sign", {"numbers": list(range(1, 102))}).status == 422


@pytest.mark.parametrize("key", ["/a", "a//b", "../a", "a/./b", "a/", "a\nb", "x" * 1025, ""])
def test_a_key_no_tool_could_name_is_refused(world: World, key: str) -> None:
    world.bucket()
    assert world.call("POST", "/uploads", {"key": key, "size": 1}).status == 422


@pytest.mark.parametrize("key", ["../x", "./x", "a//b", "a\x00b"])
def test_a_key_that_cannot_be_is_not_signed_nor_deleted(world: World, key: str) -> None:
    world.bucket()
    assert world.call("POST", "/files/download", {"key": key}).status == 422
    assert world.call("POST", "/files/delete", {"keys": [key]}).status == 422


def test_a_content_type_cannot_carry_a_second_header(world: World) -> None:
    world.bucket()
    body = {"key": "a.txt", "size": 1, "content_type": "text/plain\r\nX: y"}
    assert world.call("POST", "/uploads", body).status == 422

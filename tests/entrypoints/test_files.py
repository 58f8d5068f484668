"""The files of a bucket through the doors: undo, rename, new folders, pages, and what a running job guards."""

import pytest

from tests.world import World

SHARD = "jobs/digits/shards/shard_0.zip"


def put(world: World, *keys: str) -> None:
    bucket = world.bucket()
    for key in keys:
        world.put(bucket, key, key.encode())


def keys(world: World, query: str = "") -> list[str]:
    return [item["key"] for item in world.call("GET", f"/files{query}").body["objects"]]


def test_a_deleted_file_comes_back(world: World) -> None:
    put(world, "notes/a.txt")
    world.call("POST", "/files/delete", {"keys": ["notes/a.txt"]})
    assert world.call("POST", "/files/restore", {"keys": ["notes/a.txt", "never.txt"]}).body == {"restored": ["notes/a.txt"]}
    assert keys(world) == ["notes/a.txt"]


def test_a_renamed_file_has_its_bytes_under_the_new_key_only(world: World) -> None:
    put(world, "notes/a.txt")
    assert world.call("POST", "/files/move", {"key": "notes/a.txt", "to": "notes/b.txt"}).body["key"] == "notes/b.txt"
    assert keys(world) == ["notes/b.txt"]
    assert world.objects.read(world.bucket(), "notes/b.txt") == b"notes/a.txt"


@pytest.mark.parametrize("to", ["notes/a.txt", "notes/b.txt"])
def test_a_rename_overwrites_nothing(world: World, to: str) -> None:
    put(world, "notes/a.txt", "notes/b.txt")
    answer = world.call("POST", "/files/move", {"key": "notes/a.txt", "to": to})
    assert (answer.status, answer.body["error"]["code"], keys(world)) == (409, "file_taken", ["notes/a.txt", "notes/b.txt"])


def test_renaming_what_is_not_there_is_not_found(world: World) -> None:
    world.bucket()
    assert world.call("POST", "/files/move", {"key": "a", "to": "b"}).status == 404


@pytest.mark.parametrize("to", ["", "notes//a", "../a", "a\n"])
def test_a_name_that_no_tool_could_write_is_refused(world: World, to: str) -> None:
    put(world, "notes/a.txt")
    assert world.call("POST", "/files/move", {"key": "notes/a.txt", "to": to}).status == 422


def test_a_new_folder_is_listed_before_it_holds_anything(world: World) -> None:
    world.bucket()
    assert world.call("POST", "/files/folder", {"prefix": "notes"}).status == 204
    assert world.call("GET", "/files?delimiter=/").body["prefixes"] == ["notes/"]


@pytest.mark.parametrize("there", ["notes/a.txt", "notes"])
def test_a_folder_or_file_of_that_name_is_left_alone(world: World, there: str) -> None:
    put(world, there)
    assert world.call("POST", "/files/folder", {"prefix": "notes/"}).status == 409
    assert keys(world) == [there]


def test_a_page_holds_no_more_than_asked_for(world: World) -> None:
    put(world, *(f"n/{number}" for number in range(5)))
    first = world.call("GET", "/files?prefix=n/&limit=2").body
    assert [item["key"] for item in first["objects"]] == ["n/0", "n/1"]
    assert keys(world, f"?prefix=n/&limit=2&cursor={first['cursor']}") == ["n/2", "n/3"]


@pytest.mark.parametrize("limit", ["x", "-1", "1.5"])
def test_a_limit_that_is_no_number_is_refused(world: World, limit: str) -> None:
    world.bucket()
    assert world.call("GET", f"/files?limit={limit}").status == 422


def test_a_running_job_guards_its_inputs_and_outputs(world: World) -> None:
    job_id, _ = world.running()
    state = world.call("GET", "/files/folder?prefix=jobs/digits/").body
    inputs = ["scripts", "configs", "requirements", "shards", "model"]
    outputs = [f"files_out/{job_id}", f"model_out/{job_id}"]
    assert (state["guarded_by"], sorted(state["guarded"])) == (job_id, sorted(f"jobs/digits/{it}/" for it in inputs + outputs))


@pytest.mark.parametrize("prefix", ["", "jobs/", "jobs/other/", "notes/digits/"])
def test_elsewhere_nothing_is_guarded(world: World, prefix: str) -> None:
    world.running()
    assert world.call("GET", f"/files/folder?prefix={prefix}").body == {"keeps_versions": True, "guarded_by": "", "guarded": []}


@pytest.mark.parametrize(
    "move", [{"key": SHARD, "to": "notes/s.zip"}, {"key": "notes/a.zip", "to": "jobs/digits/shards/shard_9.zip"}]
)
def test_nothing_is_renamed_out_of_or_into_a_guarded_folder(world: World, move: dict[str, str]) -> None:
    job_id, _ = world.running()
    put(world, "notes/a.zip")
    answer = world.call("POST", "/files/move", move)
    assert (answer.status, job_id in answer.body["error"]["message"]) == (409, True)


def test_the_outputs_of_a_running_job_cannot_be_deleted(world: World) -> None:
    job_id, _ = world.running()
    key = f"jobs/digits/model_out/{job_id}/rounds/round_0.pt"
    put(world, key)
    assert list(world.call("POST", "/files/delete", {"keys": [key]}).body["refused"]) == [key]


def test_the_outputs_of_an_earlier_job_can(world: World) -> None:
    world.running()
    key = "jobs/digits/model_out/job-0/rounds/round_0.pt"
    put(world, key)
    assert world.call("POST", "/files/delete", {"keys": [key]}).body["deleted"] == [key]


def test_a_deletion_of_another_user_does_not_come_back(world: World) -> None:
    put(world, "notes/a.txt")
    world.call("POST", "/files/delete", {"keys": ["notes/a.txt"]})
    world.bucket("bob")
    assert world.call("POST", "/files/restore", {"keys": ["notes/a.txt"]}, user="bob").body == {"restored": []}

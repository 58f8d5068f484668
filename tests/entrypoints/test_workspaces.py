"""Workspaces through the doors."""

import json

import pytest

from tests.world import World


def make(world: World, name: str = "digits", **form: object) -> dict[str, object]:
    world.bucket()
    body: dict[str, object] = world.call("POST", "/workspaces", {"name": {"name": name}, **form}).body
    return body


def test_a_new_workspace_has_exactly_the_files_of_the_specification(world: World) -> None:
    make(world)
    keys = [item["key"] for item in world.call("GET", "/files?prefix=jobs/digits/").body["objects"]]
    assert keys == [
        "jobs/digits/configs/config_fed_client.json",
        "jobs/digits/configs/config_fed_server.json",
        "jobs/digits/configs/meta.json",
        "jobs/digits/requirements/requirements.txt",
        "jobs/digits/scripts/custom_client_executor.py",
        "jobs/digits/scripts/custom_persistor.py",
        "jobs/digits/scripts/model_def_wrapper_template.py",
    ]


def test_a_preview_is_what_building_writes(world: World) -> None:
    form = {"name": {"name": "My Food"}, "training": {"parameters": [{"name": "seed", "value": 7}]}}
    previewed = world.call("POST", "/wizard/preview", form).body
    world.bucket()
    world.call("POST", "/workspaces", form)
    written = {file["path"]: world.objects.read(world.bucket(), f"jobs/my-food/{file['path']}") for file in previewed["files"]}
    assert written == {file["path"]: file["text"].encode() for file in previewed["files"]}


def test_a_preview_writes_nothing(world: World) -> None:
    world.bucket()
    world.call("POST", "/wizard/preview", {"name": {"name": "digits"}})
    assert world.call("GET", "/workspaces").body["workspaces"] == []


def test_a_name_is_cleaned_by_the_platforms_rule(world: World) -> None:
    assert make(world, "My Food 101!")["prefix"] == "jobs/my-food-101/"


def test_a_name_without_a_letter_or_digit_is_refused(world: World) -> None:
    world.bucket()
    assert world.call("POST", "/workspaces", {"name": {"name": "---"}}).status == 422


def test_a_taken_name_is_a_conflict_with_a_free_suggestion(world: World) -> None:
    make(world)
    answer = world.call("POST", "/workspaces", {"name": {"name": "digits"}})
    assert (answer.status, answer.body["error"]["fields"]["suggestion"]) == (409, "digits-2")


def test_an_integer_of_any_size_stays_exact(world: World) -> None:
    make(world, training={"parameters": [{"name": "seed", "value": 123456789012345678901234567890}]})
    raw = world.objects.read(world.bucket(), "jobs/digits/configs/config_fed_client.json")
    assert b"123456789012345678901234567890" in raw


def test_a_parameter_named_like_the_platforms_is_refused_by_name(world: World) -> None:
    world.bucket()
    body = {"name": {"name": "x"}, "training": {"parameters": [{"name": "Data_Root", "value": 1}]}}
    answer = world.call("POST", "/workspaces", body)
    assert (answer.status, "Data_Root" in json.dumps(answer.body)) == (422, True)


def test_the_cards_show_what_is_missing(world: World) -> None:
    make(world)
    states = {card["folder"]: card["state"] for card in world.call("GET", "/workspaces/digits").body["cards"]}
    assert states == {
        "scripts": "ready",
        "configs": "ready",
        "requirements": "ready",
        "shards": "needs_files",
        "model": "empty",
    }


def test_an_upload_raises_a_check_and_its_report(world: World) -> None:
    world.workspace()
    report = world.call("GET", "/workspaces/digits").body["report"]
    assert (report["workers"], [f for f in report["findings"] if f["level"] == "error"]) == (3, [])


def test_a_log_raises_no_check(world: World) -> None:
    world.workspace()
    before = world.call("GET", "/workspaces/digits/report").body["counter"]
    world.put(world.bucket(), "jobs/digits/files_out/job-1/logs/attempt-1/server/0.ndjson", b"{}")
    assert world.call("GET", "/workspaces/digits/report").body["counter"] == before


def test_an_event_delivered_twice_does_no_harm(world: World) -> None:
    prefix = world.workspace()
    key = f"{prefix}scripts/model_def.py"
    data = world.objects.read(world.bucket(), key)
    world.put(world.bucket(), key, data)
    world.put(world.bucket(), key, data)
    report = world.call("GET", "/workspaces/digits/report").body
    assert [f for f in report["findings"] if f["level"] == "error"] == []


def test_building_again_needs_the_state_that_was_seen(world: World) -> None:
    make(world)
    body = {"name": {"name": "digits"}}
    answer = world.call("PUT", "/workspaces/digits", body, headers={"If-Match": "another"})
    assert (answer.status, answer.body["error"]["code"]) == (412, "precondition_failed")


def test_building_again_writes_the_new_values(world: World) -> None:
    etag = str(make(world)["etag"])
    body = {"name": {"name": "digits"}, "federation": {"rounds": 9}}
    assert world.call("PUT", "/workspaces/digits", body, headers={"If-Match": etag}).status == 200
    raw = world.objects.read(world.bucket(), "jobs/digits/configs/config_fed_server.json")
    assert json.loads(raw)["workflows"][0]["args"]["num_rounds"] == 9


def edit_meta(world: World) -> None:
    path = "configs/meta.json"
    shown = world.call("GET", f"/workspaces/digits/file?path={path}").body
    document = {**json.loads(shown["text"]), "note": "mine"}
    saved = {"path": path, "text": json.dumps(document), "etag": shown["etag"]}
    assert world.call("PUT", "/workspaces/digits/file", saved).status == 200


def test_building_again_keeps_and_names_what_was_edited_by_hand(world: World) -> None:
    make(world)
    edit_meta(world)
    etag = world.call("GET", "/workspaces/digits/built").body["etag"]
    built = world.call("PUT", "/workspaces/digits", {"name": {"name": "digits"}}, headers={"If-Match": etag}).body
    assert [file["path"] for file in built["files"] if file["edited"]] == ["configs/meta.json"]


def test_building_again_overwrites_edits_when_told_to(world: World) -> None:
    make(world)
    edit_meta(world)
    etag = world.call("GET", "/workspaces/digits/built").body["etag"]
    path = "/workspaces/digits?overwrite=true"
    built = world.call("PUT", path, {"name": {"name": "digits"}}, headers={"If-Match": etag}).body
    assert [file["path"] for file in built["files"] if file["edited"]] == []


def test_an_edit_against_an_old_state_is_refused(world: World) -> None:
    make(world)
    stale = {"path": "configs/meta.json", "text": "{}", "etag": "old"}
    assert world.call("PUT", "/workspaces/digits/file", stale).status == 412


def test_an_edit_that_is_no_json_is_refused_with_its_line(world: World) -> None:
    make(world)
    shown = world.call("GET", "/workspaces/digits/file?path=configs/meta.json").body
    broken = {"path": "configs/meta.json", "text": '{\n  "name": oops\n}', "etag": shown["etag"]}
    answer = world.call("PUT", "/workspaces/digits/file", broken)
    assert (answer.status, "line 2" in answer.body["error"]["message"]) == (422, True)


@pytest.mark.parametrize("path", ["scripts/model_def.py", "configs/../scripts/x.json", "shards/a.zip"])
def test_only_configs_and_requirements_are_edited_in_place(world: World, path: str) -> None:
    make(world)
    assert world.call("PUT", "/workspaces/digits/file", {"path": path, "text": "{}", "etag": "e"}).status == 422


def test_a_folder_made_by_another_tool_is_listed_under_its_own_name(world: World) -> None:
    world.put(world.bucket(), "jobs/My.Job v2/shards/a.zip", b"x")
    rows = world.call("GET", "/workspaces").body["workspaces"]
    assert [(row["name"], row["shards"]) for row in rows] == [("My.Job v2", 1)]


def test_a_workspace_that_the_wizard_did_not_make_is_not_built_again(world: World) -> None:
    world.put(world.bucket(), "jobs/theirs/shards/a.zip", b"x")
    assert world.call("GET", "/workspaces/theirs/built").status == 404


def test_the_wizards_form_is_exported(world: World) -> None:
    schema = world.call("GET", "/schema/wizard.json", user=None).body
    assert "rounds" in json.dumps(schema)


@pytest.mark.parametrize("name", ["..", "%00", "x" * 300, "a%2Fb"])
@pytest.mark.parametrize("path", ["", "/report", "/built", "/file?path=configs/meta.json"])
def test_a_name_that_no_folder_can_have_is_not_found(world: World, name: str, path: str) -> None:
    world.bucket()
    assert world.call("GET", f"/workspaces/{name}{path}").status == 404


def test_checking_a_workspace_that_is_not_there_is_not_found(world: World) -> None:
    world.bucket()
    assert world.call("POST", "/workspaces/nothing/check").status == 404


def test_a_hand_edit_made_while_building_again_is_not_overwritten(world: World) -> None:
    etag = str(make(world)["etag"])
    world.objects.before_put = lambda _: edit_meta(world)
    answer = world.call("PUT", "/workspaces/digits", {"name": {"name": "digits"}}, headers={"If-Match": etag})
    assert answer.status == 412


def test_what_was_built_before_a_refusal_is_not_called_an_edit_by_hand(world: World) -> None:
    etag = str(make(world)["etag"])
    world.objects.before_put = lambda _: edit_meta(world)
    body = {"name": {"name": "digits"}, "federation": {"rounds": 9}}
    world.call("PUT", "/workspaces/digits", body, headers={"If-Match": etag})
    built = world.call("GET", "/workspaces/digits/built").body
    assert [file["path"] for file in built["files"] if file["edited"]] == ["configs/meta.json"]

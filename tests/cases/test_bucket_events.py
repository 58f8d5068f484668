"""Events of a bucket, in S3's own notifications and as EventBridge sends them, to the report of the workspace.

CONTRACT 7 decides where the cases leave it open: every event is a check of the whole folder and the report with the highest
counter is the one kept, so "one validation record" is one report, whatever the number of events. No workflow runs for a check.
"""

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from urllib.parse import unquote_plus

import pytest

from chalicelib.contracts.report import Report
from chalicelib.domain import bucket_events
from local_stack.upload_events import StoreChange, event_of
from tests.cases.case import Case
from tests.domain.builders import good_files, zip_bytes
from tests.world import World

OWNER = "sub-ada"


def bucket(it: World, prefix: str = "jobs/food/", *, shards: Iterable[str] = ("shard_0.zip",)) -> str:
    """Ada's bucket, with a good workspace under this prefix that nobody has checked."""
    name = it.bucket()
    for path, data in good_files().items():
        it.objects.put(name, prefix + path, data)
    for shard in shards:
        it.objects.put(name, f"{prefix}shards/{shard}", zip_bytes("images/a.png"))
    return name


def sent(case: Case, bucket: str, name: str = "event_0.json") -> dict[str, Any]:
    """The case's event, about this bucket."""
    event: dict[str, Any] = json.loads(case.text(name).replace("fl-user-bucket", bucket))
    return event


def notify(event: dict[str, Any]) -> None:
    """Give a notification to the door that S3, SQS and SNS know."""
    from app import app

    app.handler_map["bucket_notified"](event, None)


def as_eventbridge(event: dict[str, Any]) -> list[dict[str, Any]]:
    """The same changes as EventBridge tells them: its keys are the user's, not a form's."""
    rows = [record["s3"] for record in event["Records"]]
    changes = [
        StoreChange(
            "Object Created", row["bucket"]["name"], unquote_plus(row["object"]["key"]), "PutObject", row["object"]["size"]
        )
        for row in rows
    ]
    return [event_of(change) for change in changes]


def upload(event: dict[str, Any]) -> None:
    """Give an EventBridge event to its door."""
    from app import app

    app.handler_map["uploaded"](event, None)


def report(it: World, workspace: str = "food") -> Report:
    found, _ = it.app.reports.newest(OWNER, workspace)
    assert found is not None
    return found


def checks(it: World, workspace: str = "food") -> int:
    """How many checks the workspace has had."""
    return it.app.reports.newest(OWNER, workspace)[1]


def test_the_same_event_twice_leaves_one_report_and_starts_no_workflow(it: World) -> None:
    case = Case("s3-duplicate-event")
    name = bucket(it)
    notify(sent(case, name, "event_0.json"))
    first = report(it)
    notify(sent(case, name, "event_1.json"))
    again = report(it)
    assert (again.findings, again.cards, again.workers) == (first.findings, first.cards, first.workers) == ((), first.cards, 1)
    assert it.workflow.started == []


def test_two_copies_of_an_event_in_one_delivery_are_one_check(it: World) -> None:
    case = Case("s3-duplicate-event")
    one = sent(case, bucket(it))
    notify({"Records": one["Records"] * 2})
    assert checks(it) == 1


def test_folder_markers_raise_nothing_and_an_empty_zip_is_a_file(it: World) -> None:
    case = Case("s3-folder-marker")
    name = bucket(it, shards=())
    event = sent(case, name)
    for record in event["Records"]:
        it.objects.put(name, record["s3"]["object"]["key"], b"")
    for record in event["Records"][:3]:
        notify({"Records": [record]})
    assert checks(it) == 0
    notify(event)
    found = report(it)
    assert [(f.code, f.path) for f in found.findings] == [("shard_zero_bytes", "shards/x.zip")]
    assert next(card.count for card in found.cards if card.folder == "shards") == 1


def test_keys_are_decoded_once_and_their_objects_found(it: World) -> None:
    case = Case("s3-key-encoding")
    keys = case.json("keys.json")
    name = bucket(it, shards=[key.removeprefix("jobs/food/shards/") for key in keys])
    assert [key for _, key in bucket_events.notified(sent(case, name))] == keys
    notify(sent(case, name))
    assert (report(it).findings, report(it).workers) == ((), len(keys))


def test_the_keys_of_eventbridge_are_taken_as_they_are(it: World) -> None:
    case = Case("s3-key-encoding")
    keys = case.json("keys.json")
    name = bucket(it, shards=[key.removeprefix("jobs/food/shards/") for key in keys])
    for number, event in enumerate(as_eventbridge(sent(case, name)), 1):
        upload(event)
        assert checks(it) == number, f"{event['detail']['object']['key']} raised no check"
    assert report(it).workers == len(keys)


def test_more_than_a_thousand_shards_are_all_seen_in_the_order_of_their_numbers(it: World) -> None:
    case = Case("s3-more-than-1000")
    keys = [row["Key"] for page in case.inputs for row in case.json(page)["Contents"]]
    name = bucket(it, "jobs/big/", shards=[key.removeprefix("jobs/big/shards/") for key in keys])
    upload(event_of(StoreChange("Object Created", name, keys[-1], "PutObject", 100)))
    assert report(it, "big").workers == case.expect["n"]
    refused = it.call("POST", "/jobs", {"workspace": "big", "client_token": "token-0001"})
    assert refused.body["error"]["code"] == "no_capacity"
    assert "1203" in refused.body["error"]["message"], "a stated limit: the workers that are there"


def test_site_3_gets_shard_2(it: World) -> None:
    name = bucket(it, shards=[f"shard_{n}.zip" for n in (0, 1, 10, 2)])
    upload(event_of(StoreChange("Object Created", name, "jobs/food/shards/shard_2.zip", "PutObject", 100)))
    job = it.launch("food").body["id"]
    assert [(shard.site, shard.name) for shard in launched_shards(it, job)][2] == ("site-3", "shard_2.zip")


def launched_shards(it: World, job_id: str) -> Any:
    from chalicelib.services.launch import read_record

    return read_record(job_id, objects=it.objects, settings=it.app.settings).shards


def test_the_etag_of_a_multipart_upload_is_a_version_and_no_checksum(it: World) -> None:
    case = Case("s3-multipart-etag")
    name = bucket(it, shards=())
    key = sent(case, name)["Records"][0]["s3"]["object"]["key"]
    body = zip_bytes("images/a.png")
    upload_id = it.objects.start_upload(name, key, content_type="application/zip")
    url = it.objects.sign_part(name, key, upload_id, 1, size=len(body), expires=timedelta(hours=1))
    it.objects.put_part(url, body)
    made = it.objects.complete_upload(name, key, upload_id, tuple(it.objects.parts(name, key, upload_id)))
    notify(sent(case, name))
    assert report(it).findings == ()
    [shard] = launched_shards(it, it.launch("food").body["id"])
    assert shard.etag == made.etag
    assert made.etag.endswith("-1")


@pytest.mark.parametrize("tell", ["notification", "EventBridge"])
def test_what_the_platform_writes_starts_no_chain(it: World, tell: str) -> None:
    case = Case("s3-own-output")
    event = sent(case, bucket(it))
    if tell == "notification":
        notify(event)
    else:
        for one in as_eventbridge(event):
            upload(one)
    assert [checks(it, name) for name in ("food", "a", "a/b")] == [1, 0, 0]


@pytest.mark.parametrize("name", Case("s3-test-event").inputs)
def test_a_test_message_is_taken_and_nothing_is_recorded(it: World, name: str) -> None:
    case = Case("s3-test-event")
    bucket_name = bucket(it)
    it.objects.requests.clear()
    notify(sent(case, bucket_name, name))
    assert it.objects.requests == []


@pytest.mark.parametrize("wrap", ["SQS", "SNS", "SNS in SQS"])
def test_a_notification_through_a_queue_or_a_topic_is_understood(it: World, wrap: str) -> None:
    inner = json.dumps(sent(Case("s3-duplicate-event"), bucket(it)))
    topic = json.dumps({"Type": "Notification", "Message": inner})
    events: dict[str, dict[str, Any]] = {
        "SQS": {"Records": [{"eventSource": "aws:sqs", "body": inner}]},
        "SNS": {"Records": [{"EventSource": "aws:sns", "Sns": {"Type": "Notification", "Message": inner}}]},
        "SNS in SQS": {"Records": [{"eventSource": "aws:sqs", "body": topic}]},
    }
    notify(events[wrap])
    assert checks(it) == 1


@pytest.mark.parametrize(
    "event", [{}, {"Records": None}, {"Records": ["x"]}, {"Records": [{"body": "no json"}]}, {"Records": [{}]}]
)
def test_what_is_no_notification_is_passed_over(event: dict[str, Any]) -> None:
    assert list(bucket_events.notified(event)) == []

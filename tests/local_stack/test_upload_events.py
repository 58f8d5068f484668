"""What SeaweedFS tells, as the event that S3 would have sent."""

import json
import time
from base64 import b64encode
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from chalicelib.contracts.files import Listing
from chalicelib.domain.errors import StoreUnavailable
from local_stack.upload_events import Event, UploadEvents, change_of, event_of, sweep
from tests.fakes import MemoryObjectStore
from tests.local_stack.wsgi_caller import call

VERSION = "67131a95fe618333d5af4fe372301072"
KEY = "jobs/w/shards/a b+c/ü%20.zip"


def entry(**extended: str) -> dict[str, Any]:
    kept = {name.replace("_", "-"): b64encode(value.encode()).decode() for name, value in extended.items()}
    return {"name": "x", "attributes": {"file_size": 5, "md5": "XUFAKrxLKna5cZ2REBfFkg=="}, "extended": kept}


def seen(path: str, *, before: dict[str, Any] | None = None, after: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"key": f"/buckets/tu-a/{path}", "message": {"old_entry": before, "new_entry": after}}


def seen_version(*, before: dict[str, Any] | None = None, after: dict[str, Any] | None = None) -> dict[str, Any]:
    return seen(f"{KEY}.versions/v_{VERSION}", before=before, after=after)


def event(told: dict[str, Any]) -> Event:
    change = change_of(told)
    assert change is not None
    return event_of(change)


def test_a_new_version_is_a_created_object_under_its_users_key() -> None:
    made = event(seen_version(after=entry(Seaweed_X_Amz_ETag="5d41402abc4b2a76b9719d911017c592")))
    told = {name: made["detail"]["object"][name] for name in ("key", "size", "etag", "version-id")}
    assert told == {"key": KEY, "size": 5, "etag": "5d41402abc4b2a76b9719d911017c592", "version-id": VERSION}


def test_an_event_has_the_shape_of_eventbridges() -> None:
    made = event(seen_version(after=entry()))
    assert (set(made), set(made["detail"])) == (
        {"version", "id", "detail-type", "source", "account", "time", "region", "resources", "detail"},
        {"version", "bucket", "object", "request-id", "requester", "source-ip-address", "reason"},
    )


def test_an_event_names_source_and_bucket() -> None:
    made = event(seen_version(after=entry()))
    assert (made["source"], made["detail-type"], made["detail"]["bucket"], made["resources"]) == (
        "aws.s3",
        "Object Created",
        {"name": "tu-a"},
        ["arn:aws:s3:::tu-a"],
    )


def test_an_object_made_of_parts_says_so() -> None:
    assert event(seen_version(after=entry(X_Seaweedfs_Upload_Id="u")))["detail"]["reason"] == "CompleteMultipartUpload"


def test_a_delete_marker_is_a_deleted_object() -> None:
    made = event(seen_version(after=entry(Seaweed_X_Amz_Delete_Marker="true")))
    told = (made["detail-type"], made["detail"]["object"]["key"], made["detail"]["deletion-type"])
    assert told == ("Object Deleted", KEY, "Delete Marker Created")


def test_a_version_removed_for_good_is_a_deleted_object() -> None:
    made = event(seen_version(before=entry()))
    assert (made["detail-type"], made["detail"]["deletion-type"]) == ("Object Deleted", "Permanently Deleted")


@pytest.mark.parametrize("before", [None, entry()], ids=["new", "over another"])
def test_an_object_of_a_bucket_without_versions_is_created(before: dict[str, Any] | None) -> None:
    assert event(seen("jobs/w/model/x.pt", before=before, after=entry()))["detail-type"] == "Object Created"


def test_etags_come_from_the_digest_when_none_is_stored() -> None:
    assert event(seen("x", after=entry()))["detail"]["object"]["etag"] == "5d41402abc4b2a76b9719d911017c592"


def test_a_folder_of_a_user_that_looks_like_versions_is_kept_as_it_is() -> None:
    made = event(seen(f"jobs/w/model/old.versions/mine.versions/v_{VERSION}", after=entry()))
    assert made["detail"]["object"]["key"] == "jobs/w/model/old.versions/mine"


@pytest.mark.parametrize(
    "told",
    [
        seen(f".uploads/{'0' * 40}/0001.part", after=entry()),
        seen("jobs/w/empty", after={"name": "empty", "is_directory": True}),
        seen(f"{KEY}.versions", before={"is_directory": True}, after={"is_directory": True}),
        seen_version(before=entry(), after=entry()),
        {"key": "/buckets/.system/owners/platform/tu-a", "message": {"new_entry": entry()}},
        {"key": "/buckets/tu-a", "message": {"new_entry": {"is_directory": True}}},
        {"key": "/buckets/tu-a", "message": {"old_entry": {"is_directory": True}}},
    ],
    ids=["part", "folder", "version folder", "made noncurrent", "system", "bucket", "bucket removed"],
)
def test_the_stores_own_bookkeeping_raises_nothing(told: dict[str, Any]) -> None:
    assert change_of(told) is None


class Inbox:
    """Keeps the events it is given; fails on the first when told to."""

    def __init__(self, *, fails_first: bool = False) -> None:
        self.events: SimpleQueue[str] = SimpleQueue()
        self._fails = fails_first

    def __call__(self, event: Event) -> None:
        if self._fails:
            self._fails = False
            raise RuntimeError("this one is bad")
        self.events.put(event["detail"]["object"]["key"])


def posted(events: UploadEvents, path: str, key: str) -> int:
    return call(events, "POST", path, body=json.dumps(seen(key, after=entry())).encode()).status


def test_what_is_posted_to_the_secret_path_is_handled() -> None:
    inbox = Inbox()
    events = UploadEvents(inbox)
    events.start()
    posted(events, events.path, "jobs/w/model/x.pt")
    events.stop()
    assert inbox.events.get(timeout=5) == "jobs/w/model/x.pt"


def test_a_handler_that_fails_does_not_stop_the_next_event() -> None:
    inbox = Inbox(fails_first=True)
    events = UploadEvents(inbox)
    events.start()
    for key in ("first", "second"):
        posted(events, events.path, key)
    events.stop()
    assert inbox.events.get(timeout=5) == "second"


@pytest.mark.parametrize("path", ["/_store/", "/_store/guess", "/"])
def test_nothing_is_taken_at_another_path(path: str) -> None:
    inbox = Inbox()
    events = UploadEvents(inbox)
    events.start()
    status = posted(events, path, "x")
    events.stop()
    with pytest.raises(Empty):
        inbox.events.get_nowait()
    assert status == 404


def test_two_installations_have_two_secrets() -> None:
    assert UploadEvents(Inbox()).path != UploadEvents(Inbox()).path


@pytest.mark.parametrize("body", [b"", b"not json", b"[]", b'{"key": 1}', b'{"message": null}'])
def test_a_body_that_is_no_event_is_refused_quietly(body: bytes) -> None:
    events = UploadEvents(Inbox())
    assert call(events, "POST", events.path, body=body).status == 400


# The sweep


def swept(*keys: str) -> list[tuple[str, str]]:
    store, raised = MemoryObjectStore(), list[Event]()
    store.create_bucket("tu-a", origins=[])
    for key in keys:
        store.put("tu-a", key, b"1")
    sweep(store, ["tu-a"], raised.append)
    return [(event["detail-type"], event["detail"]["object"]["key"]) for event in raised]


def test_the_sweep_raises_one_event_for_each_workspace() -> None:
    raised = swept("jobs/a/shards/1.zip", "jobs/a/shards/2.zip", "jobs/a/scripts/x.py", "jobs/b/model/m.pt", "other/x")
    assert raised == [("Object Created", "jobs/a/scripts/x.py"), ("Object Created", "jobs/b/model/m.pt")]


def test_a_workspace_whose_inputs_are_gone_is_checked_as_well() -> None:
    assert swept("jobs/a/model_out/m.pt") == [("Object Deleted", "jobs/a/scripts/model_def.py")]


class Unreadable(MemoryObjectStore):
    """A store one of whose buckets does not answer."""

    def list(
        self, bucket: str, prefix: str = "", *, cursor: str | None = None, limit: int = 1000, delimiter: str = ""
    ) -> Listing:
        if bucket == "tu-down":
            raise StoreUnavailable("it does not answer")
        return super().list(bucket, prefix, cursor=cursor, limit=limit, delimiter=delimiter)


@pytest.mark.parametrize(("bucket", "unread"), [("gone", []), ("tu-down", ["tu-down"])])
def test_a_bucket_that_cannot_be_read_stops_no_sweep_and_is_named(bucket: str, unread: list[str]) -> None:
    store, raised = Unreadable(), list[Event]()
    store.create_bucket("tu-a", origins=[])
    store.put("tu-a", "jobs/a/model/m.pt", b"1")
    assert (list(sweep(store, [bucket, "tu-a"], raised.append)), len(raised)) == (unread, 1)


def created(key: str) -> Event:
    return event(seen(key, after=entry()))


def handled(*events: Event, failures: int = 0) -> list[str]:
    """The keys a handler sees of events that all wait when it begins, failing so many times first."""
    seen_keys: list[str] = []
    left = [StoreUnavailable("down")] * failures

    def handle(one: Event) -> None:
        if left:
            raise left.pop()
        seen_keys.append(one["detail"]["object"]["key"])

    uploads = UploadEvents(handle)
    for one in events:
        uploads.raise_event(one)
    uploads.start()
    until = time.monotonic() + 20
    while not seen_keys and time.monotonic() < until:
        time.sleep(0.02)
    uploads.stop()
    return seen_keys


def test_events_of_one_workspace_that_wait_are_handled_as_one() -> None:
    assert handled(*(created(f"jobs/w/shards/{n}.zip") for n in range(50))) == ["jobs/w/shards/49.zip"]


def test_an_input_is_not_swallowed_by_an_output_of_its_workspace() -> None:
    keys = handled(created("jobs/w/shards/a.zip"), created("jobs/w/files_out/job-1/a.txt"))
    assert "jobs/w/shards/a.zip" in keys


def test_an_event_whose_check_meets_a_store_that_is_down_is_tried_again() -> None:
    assert handled(created("jobs/w/shards/a.zip"), failures=2) == ["jobs/w/shards/a.zip"]


def test_an_event_that_waits_for_the_store_keeps_no_other_waiting() -> None:
    tried: list[str] = []
    seen_keys: SimpleQueue[str] = SimpleQueue()

    def handle(one: Event) -> None:
        key = one["detail"]["object"]["key"]
        tried.append(key)
        if key == "jobs/bad/shards/a.zip":
            raise StoreUnavailable("down")
        seen_keys.put(key)

    uploads = UploadEvents(handle)
    uploads.raise_event(created("jobs/bad/shards/a.zip"))
    uploads.start()
    until = time.monotonic() + 20
    while tried.count("jobs/bad/shards/a.zip") < 3 and time.monotonic() < until:
        time.sleep(0.02)
    uploads.raise_event(created("jobs/w/shards/a.zip"))
    seen = seen_keys.get(timeout=5)
    uploads.stop()
    assert (seen, tried.count("jobs/bad/shards/a.zip") >= 3) == ("jobs/w/shards/a.zip", True)

"""The worker's side of the platform's API, and its transfers, against a real server."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tutti_worker.api import NotYet, Pauses, PlatformApi
from tutti_worker.downloads import Downloads
from tutti_worker.outputs import Uploads
from tutti_worker.trouble import ApiUnreachable, Failure, JobGone, Superseded

from chalicelib.contracts.worker import EventBatch, HeartbeatEvent, SignedUrl, UrlKind, UrlWish
from tests.worker.builders import Platform, shard_zip


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    made = Platform(tmp_path / "store", ("site-1",))
    made.put("job.zip", b"zip")
    made.put("shards/site-1.zip", shard_zip(1))
    yield made
    made.close()


@pytest.fixture
def api(platform: Platform) -> Iterator[PlatformApi]:
    made = PlatformApi(f"{platform.root}/api", patience_s=10)
    made.sign_in("code-of-site-1")
    yield made
    made.close()


def batch() -> EventBatch:
    return EventBatch(attempt=1, seq=1, events=(HeartbeatEvent(),))


def test_a_platform_that_is_away_for_a_moment_is_waited_for(platform: Platform, api: PlatformApi) -> None:
    import time

    platform.down_until = time.time() + 1.0
    assert api.post_events(batch()).accepted_seq == 1


def test_a_platform_that_never_answers_is_given_up() -> None:
    api = PlatformApi("http://127.0.0.1:9/api", patience_s=0.3)
    with pytest.raises(ApiUnreachable):
        api.sign_in("code")
    api.close()


def test_a_superseded_worker_hears_it(platform: Platform, api: PlatformApi) -> None:
    platform.superseded.add("site-1")
    with pytest.raises(Superseded):
        api.post_events(batch())


def test_a_kit_that_is_not_there_yet_is_no_end(platform: Platform, api: PlatformApi) -> None:
    with pytest.raises(NotYet):
        api.kit_url()
    platform.put("kits/site-1.zip", b"kit")
    assert api.kit_url().kind is UrlKind.KIT_GET


def test_an_unknown_worker_is_told_that_the_job_is_gone() -> None:
    api = PlatformApi("http://platform/api", transport=httpx.MockTransport(lambda _: httpx.Response(401, json={})))
    with pytest.raises(JobGone):
        api.assignment()
    api.close()


class Store:
    """A store that answers by a script; each step is (status, bytes sent, or None to break off half way)."""

    def __init__(self, body: bytes, *steps: tuple[int, bool]) -> None:
        self.body, self.steps, self.asked = body, list(steps), []  # type: ignore[var-annotated]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append((str(request.url), request.headers.get("range")))
        status, whole = self.steps.pop(0) if self.steps else (200, True)
        start = int(request.headers.get("range", "bytes=0-")[6:-1])
        if status != 200:
            return httpx.Response(status)
        stream = Breaking(self.body[start:], whole)
        return httpx.Response(206 if start else 200, stream=stream)


class Breaking(httpx.SyncByteStream):
    def __init__(self, body: bytes, whole: bool) -> None:
        self._body, self._whole = body, whole

    def __iter__(self) -> Iterator[bytes]:
        if self._whole:
            yield self._body
        else:
            yield self._body[: len(self._body) // 2]
            raise httpx.ReadError("the line went dead")


def fetch(store: Store, target: Path, size: int | None = None) -> None:
    downloads = Downloads(patience_s=10, transport=httpx.MockTransport(store))
    try:
        downloads.fetch("http://store/old", target, size=size or len(store.body), fresh_url=lambda: "http://store/new")
    finally:
        downloads.close()


def test_a_broken_download_goes_on_where_it_stopped(tmp_path: Path) -> None:
    store = Store(bytes(range(256)) * 40, (200, False), (200, True))
    fetch(store, tmp_path / "shard.zip")
    assert (tmp_path / "shard.zip").read_bytes() == store.body
    assert store.asked[1][1] == f"bytes={len(store.body) // 2}-"


def test_an_expired_url_is_replaced(tmp_path: Path) -> None:
    store = Store(b"data", (403, True))
    fetch(store, tmp_path / "shard.zip")
    assert [url for url, _ in store.asked] == ["http://store/old", "http://store/new"]


def test_an_object_that_has_grown_since_the_launch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Failure) as refused:
        fetch(Store(b"longer than it was"), tmp_path / "shard.zip", size=4)
    assert refused.value.cause.code == "shard_invalid"


def test_a_file_is_put_where_the_platform_signs(platform: Platform, api: PlatformApi, tmp_path: Path) -> None:
    (tmp_path / "out/deep").mkdir(parents=True)
    (tmp_path / "out/deep/ä b.txt").write_text("one")
    (tmp_path / "out/empty").write_bytes(b"")
    uploads = Uploads(api)
    assert uploads.put_tree(tmp_path / "out") == 2
    assert platform.path("files_out/site-1/deep/ä b.txt").read_text() == "one"
    uploads.close()


def test_one_file_that_cannot_be_kept_costs_no_other(platform: Platform, api: PlatformApi, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name in (b"good.txt", b"odd\xff.txt", b"line\nfeed", b"zz.txt"):
        Path(os.fsdecode(bytes(out) + b"/" + name)).write_text("x")
    left_out: list[str] = []
    uploads = Uploads(api)
    assert uploads.put_tree(out, left_out.append) == 2
    assert platform.path("files_out/site-1/zz.txt").exists()
    assert [("UTF-8" in said, "control" in said) for said in left_out] == [(False, True), (True, False)]
    uploads.close()


def test_a_file_that_vanishes_before_its_upload_is_named_and_the_rest_is_kept(platform: Platform, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.txt").write_text("x")

    class Late(PlatformApi):
        def urls(self, wishes: list[UrlWish]) -> list[SignedUrl]:
            (tmp_path / "a.txt").unlink(missing_ok=True)
            return super().urls(wishes)

    api = Late(f"{platform.root}/api", patience_s=10)
    api.sign_in("code-of-site-1")
    left_out: list[str] = []
    uploads = Uploads(api)
    assert uploads.put_tree(tmp_path, left_out.append) >= 1
    assert platform.path("files_out/site-1/b.txt").exists()
    assert [said.split()[0] for said in left_out] == ["a.txt"]
    uploads.close()
    api.close()


def test_many_kits_are_signed_by_the_hundred(tmp_path: Path) -> None:
    asked: list[int] = []

    def platform(request: httpx.Request) -> httpx.Response:
        wishes = json.loads(request.read())["wishes"]
        asked.append(len(wishes))
        return httpx.Response(200, json={"urls": [{**wish, "url": f"http://store/{wish['name']}"} for wish in wishes]})

    stored: set[str] = set()

    def store(request: httpx.Request) -> httpx.Response:
        stored.add(request.url.path)
        return httpx.Response(200)

    (tmp_path / "kit.zip").write_bytes(b"kit")
    api = PlatformApi("http://platform/api", transport=httpx.MockTransport(platform))
    uploads = Uploads(api, transport=httpx.MockTransport(store))
    uploads.put_files([(tmp_path / "kit.zip", f"site-{number}") for number in range(150)], UrlKind.KIT_PUT)
    assert (asked, len(stored)) == ([100, 50], 150)
    uploads.close()
    api.close()


def test_patience_begins_again_when_something_went_forward() -> None:
    now = [0.0]
    trying = Pauses(10, threading.Event(), clock=lambda: now[0])
    tries = 0
    for _ in trying:
        tries += 1
        now[0] += 6
        if tries < 5:
            trying.restart()
    assert (tries, now[0]) == (6, 36)


def test_a_download_that_arrives_in_small_bits_is_not_given_up(tmp_path: Path) -> None:
    store = Store(bytes(range(256)) * 40, *[(200, False)] * 6, (200, True))
    downloads = Downloads(patience_s=1.0, transport=httpx.MockTransport(store))
    downloads.fetch("http://store/old", tmp_path / "shard.zip", size=len(store.body), fresh_url=lambda: "http://store/new")
    assert (tmp_path / "shard.zip").read_bytes() == store.body
    downloads.close()


def test_an_upload_in_parts_sends_every_byte_once_and_completes(tmp_path: Path) -> None:
    body = bytes(range(256)) * 10
    (tmp_path / "big").write_bytes(body)
    parts: dict[str, bytes] = {}
    completed = threading.Event()

    def platform(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/urls"):
            urls = [f"http://store/{number}" for number in range(3)]
            signed = {"kind": "model", "name": "", "url": "", "parts": urls, "part_size": 1000, "upload_id": "u"}
            return httpx.Response(200, json={"urls": [signed]})
        completed.set()
        return httpx.Response(200, json={})

    def store(request: httpx.Request) -> httpx.Response:
        parts[request.url.path] = request.read()
        return httpx.Response(200)

    api = PlatformApi("http://platform/api", transport=httpx.MockTransport(platform))
    uploads = Uploads(api, transport=httpx.MockTransport(store))
    assert uploads.put_file(tmp_path / "big", UrlKind.MODEL) == len(body)
    assert b"".join(parts[name] for name in sorted(parts)) == body
    assert completed.is_set()
    uploads.close()
    api.close()

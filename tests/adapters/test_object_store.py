"""The ObjectStore port: one suite, every implementation."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import count

import httpx
import pytest

from chalicelib.adapters.s3 import S3ObjectStore, s3_client
from chalicelib.contracts.files import Part
from chalicelib.domain.errors import BucketNotFound, ObjectNotFound, PreconditionFailed, UploadIncomplete, UploadNotFound
from chalicelib.ports import ObjectStore
from local_stack.object_store import SeaweedFS

ORIGIN = "http://127.0.0.1:8000"
ODD_KEYS = ["a b+c/ü%20.txt", "x&y=z?/#1;2.txt", "quote'\"<>.txt", "plus+plus/日本.zip"]
SHORT = timedelta(minutes=5)
PART = 5 * 2**20

_buckets = count(1)


@pytest.fixture(params=[pytest.param("seaweed", marks=pytest.mark.process), "memory"])
def store(request: pytest.FixtureRequest) -> Iterator[ObjectStore]:
    if request.param == "memory":
        from tests.fakes import MemoryObjectStore

        yield MemoryObjectStore()
        return
    real = request.getfixturevalue("seaweed").client()
    yield real
    real.close()


@pytest.fixture
def bucket(store: ObjectStore) -> str:
    name = f"suite-{next(_buckets)}"
    store.create_bucket(name, origins=[ORIGIN])
    return name


@pytest.fixture
def s3(request: pytest.FixtureRequest) -> Iterator[S3ObjectStore]:
    """The real store, for what only a server can be asked: its signed URLs."""
    real = request.getfixturevalue("seaweed").client()
    yield real
    real.close()


@pytest.fixture
def s3_bucket(s3: S3ObjectStore) -> str:
    name = f"urls-{next(_buckets)}"
    s3.create_bucket(name, origins=[ORIGIN])
    return name


def outcomes(attempt: Callable[[int], object], threads: int) -> list[bool]:
    def tried(number: int) -> bool:
        try:
            attempt(number)
        except PreconditionFailed:
            return False
        return True

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(tried, range(threads)))


# Buckets


def test_making_a_bucket_twice_is_silent(store: ObjectStore, bucket: str) -> None:
    store.put(bucket, "kept.txt", b"1")
    store.create_bucket(bucket, origins=[ORIGIN])
    assert store.read(bucket, "kept.txt") == b"1"


def test_listing_an_absent_bucket_says_so(store: ObjectStore) -> None:
    with pytest.raises(BucketNotFound):
        store.list("no-such-bucket")


# Writing and reading


@pytest.mark.parametrize("key", ODD_KEYS)
def test_an_odd_key_comes_back_from_the_listing_as_written(store: ObjectStore, bucket: str, key: str) -> None:
    store.put(bucket, key, b"odd")
    assert [(found.key, found.size) for found in store.list(bucket).objects] == [(key, 3)]


@pytest.mark.parametrize("key", ODD_KEYS)
def test_an_odd_key_is_read_back(store: ObjectStore, bucket: str, key: str) -> None:
    store.put(bucket, key, b"odd")
    assert store.read(bucket, key) == b"odd"


def test_a_put_and_a_head_tell_the_same(store: ObjectStore, bucket: str) -> None:
    written, seen = store.put(bucket, "k", b"hello"), store.head(bucket, "k")
    assert (written.size, written.etag, written.version) == (seen.size, seen.etag, seen.version)


def test_times_have_a_zone(store: ObjectStore, bucket: str) -> None:
    assert store.put(bucket, "k", b"1").modified.tzinfo is not None


def test_an_etag_comes_without_quotes(store: ObjectStore, bucket: str) -> None:
    assert re.fullmatch(r"[0-9a-f]+", store.put(bucket, "k", b"hello").etag)


@pytest.mark.parametrize(
    ("start", "length", "wanted"),
    [
        (None, None, b"0123456789"),
        (2, 3, b"234"),
        (7, None, b"789"),
        (None, 4, b"0123"),
        (-3, None, b"789"),
        (-3, 2, b"78"),
        (-50, None, b"0123456789"),
        (8, 100, b"89"),
        (10, 5, b""),
        (99, None, b""),
        (3, 0, b""),
    ],
)
def test_a_range_is_cut_to_what_is_there(
    store: ObjectStore, bucket: str, start: int | None, length: int | None, wanted: bytes
) -> None:
    store.put(bucket, "digits", b"0123456789")
    assert store.read(bucket, "digits", start=start, length=length) == wanted


def test_the_end_of_an_empty_object_is_empty(store: ObjectStore, bucket: str) -> None:
    store.put(bucket, "empty", b"")
    assert store.read(bucket, "empty", start=-22) == b""


def test_reading_an_absent_object_says_so(store: ObjectStore, bucket: str) -> None:
    with pytest.raises(ObjectNotFound):
        store.read(bucket, "absent")


def test_reading_nothing_of_an_absent_object_says_so_too(store: ObjectStore, bucket: str) -> None:
    with pytest.raises(ObjectNotFound):
        store.read(bucket, "absent", start=0, length=0)


def test_the_head_of_an_absent_object_says_so(store: ObjectStore, bucket: str) -> None:
    with pytest.raises(ObjectNotFound):
        store.head(bucket, "absent")


# Conditions


def test_if_absent_refuses_an_object_that_is_there(store: ObjectStore, bucket: str) -> None:
    store.put(bucket, "k", b"1", if_absent=True)
    with pytest.raises(PreconditionFailed):
        store.put(bucket, "k", b"2", if_absent=True)


def test_a_deleted_object_counts_as_absent(store: ObjectStore, bucket: str) -> None:
    store.put(bucket, "k", b"1")
    store.delete(bucket, ["k"])
    store.put(bucket, "k", b"2", if_absent=True)
    assert store.read(bucket, "k") == b"2"


def test_if_match_writes_over_what_was_read(store: ObjectStore, bucket: str) -> None:
    read = store.put(bucket, "k", b"1")
    store.put(bucket, "k", b"2", if_match=read.etag)
    assert store.read(bucket, "k") == b"2"


def test_if_match_refuses_what_changed_since(store: ObjectStore, bucket: str) -> None:
    read = store.put(bucket, "k", b"1")
    store.put(bucket, "k", b"2")
    with pytest.raises(PreconditionFailed):
        store.put(bucket, "k", b"3", if_match=read.etag)


def test_if_match_refuses_an_absent_object(store: ObjectStore, bucket: str) -> None:
    with pytest.raises(PreconditionFailed):
        store.put(bucket, "k", b"3", if_match="0" * 32)


def test_of_eight_writers_of_a_new_object_one_wins(store: ObjectStore, bucket: str) -> None:
    won = outcomes(lambda n: store.put(bucket, "k", b"%d" % n, if_absent=True), threads=8)
    assert won.count(True) == 1


def test_of_eight_writers_that_read_the_same_one_wins(store: ObjectStore, bucket: str) -> None:
    read = store.put(bucket, "k", b"start")
    won = outcomes(lambda n: store.put(bucket, "k", b"%d" % n, if_match=read.etag), threads=8)
    assert won.count(True) == 1


# Versions


def test_an_old_version_stays_readable_by_its_id(store: ObjectStore, bucket: str) -> None:
    old = store.put(bucket, "k", b"old")
    store.put(bucket, "k", b"new")
    assert store.read(bucket, "k", version=old.version) == b"old"


def test_a_version_survives_the_deletion_of_its_key(store: ObjectStore, bucket: str) -> None:
    old = store.put(bucket, "k", b"old")
    store.delete(bucket, ["k"])
    assert store.head(bucket, "k", version=old.version).size == 3


def test_a_deleted_object_is_gone(store: ObjectStore, bucket: str) -> None:
    store.put(bucket, "k", b"old")
    store.delete(bucket, ["k", "never-there"])
    with pytest.raises(ObjectNotFound):
        store.read(bucket, "k")


def test_a_deleted_object_is_not_listed(store: ObjectStore, bucket: str) -> None:
    store.put(bucket, "gone", b"1")
    store.put(bucket, "here", b"1")
    store.delete(bucket, ["gone"])
    assert [found.key for found in store.list(bucket).objects] == ["here"]


def test_a_deletion_is_undone_with_the_bytes_that_were_newest(store: ObjectStore, bucket: str) -> None:
    for data in (b"old", b"new"):
        store.put(bucket, "n/a b+ü.txt", data)
    store.delete(bucket, ["n/a b+ü.txt"])
    assert list(store.restore(bucket, ["n/a b+ü.txt"])) == ["n/a b+ü.txt"]
    assert store.read(bucket, "n/a b+ü.txt") == b"new"


def test_undoing_leaves_what_is_there_and_what_never_was(store: ObjectStore, bucket: str) -> None:
    store.put(bucket, "here", b"1")
    store.put(bucket, "gone", b"1")
    store.delete(bucket, ["gone"])
    assert list(store.restore(bucket, ["here", "never"])) == []
    assert [found.key for found in store.list(bucket).objects] == ["here"]


def test_our_buckets_keep_versions(store: ObjectStore, bucket: str) -> None:
    assert store.keeps_versions(bucket)


def test_deleting_a_folder_takes_every_version(store: ObjectStore, bucket: str) -> None:
    old = store.put(bucket, "runs/a/k", b"old")
    store.put(bucket, "runs/a/k", b"new")
    store.delete_prefix(bucket, "runs/a/")
    with pytest.raises(ObjectNotFound):
        store.read(bucket, "runs/a/k", version=old.version)


def test_deleting_a_folder_leaves_its_neighbours(store: ObjectStore, bucket: str) -> None:
    for key in ("runs/a/k", "runs/ab/k"):
        store.put(bucket, key, b"1")
    store.delete_prefix(bucket, "runs/a/")
    assert [found.key for found in store.list(bucket).objects] == ["runs/ab/k"]


def test_deleting_an_empty_folder_is_silent(store: ObjectStore, bucket: str) -> None:
    store.delete_prefix(bucket, "nothing/")
    assert store.list(bucket).objects == ()


# Listing


def test_pages_of_a_listing_join_without_gap_or_overlap(store: ObjectStore, bucket: str) -> None:
    keys = [f"k/{number:02d}" for number in range(7)]
    for key in keys:
        store.put(bucket, key, b"1")
    seen, cursor = [], None
    while True:
        page = store.list(bucket, "k/", cursor=cursor, limit=3)
        seen.append([found.key for found in page.objects])
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == [keys[:3], keys[3:6], keys[6:]]


def test_a_delimiter_folds_folders(store: ObjectStore, bucket: str) -> None:
    for key in ("jobs/a/x", "jobs/a/y", "jobs/b c/x", "jobs/readme"):
        store.put(bucket, key, b"1")
    page = store.list(bucket, "jobs/", delimiter="/")
    assert (page.prefixes, [found.key for found in page.objects]) == (("jobs/a/", "jobs/b c/"), ["jobs/readme"])


def test_folders_count_towards_the_page(store: ObjectStore, bucket: str) -> None:
    for name in "abc":
        store.put(bucket, f"{name}/x", b"1")
    first = store.list(bucket, limit=2, delimiter="/")
    second = store.list(bucket, limit=2, delimiter="/", cursor=first.cursor)
    assert (first.prefixes, second.prefixes, second.cursor) == (("a/", "b/"), ("c/",), None)


def test_a_prefix_that_is_no_folder_works_too(store: ObjectStore, bucket: str) -> None:
    for key in ("shard-1.zip", "shard-2.zip", "other"):
        store.put(bucket, key, b"1")
    assert [found.key for found in store.list(bucket, "shard-").objects] == ["shard-1.zip", "shard-2.zip"]


# Copies


@pytest.mark.parametrize("key", ODD_KEYS)
def test_a_copy_has_the_same_bytes(store: ObjectStore, bucket: str, key: str) -> None:
    store.put(bucket, key, b"model")
    store.copy(bucket, key, to_key=f"copy of/{key}")
    assert store.read(bucket, f"copy of/{key}") == b"model"


def test_copying_an_absent_object_says_so(store: ObjectStore, bucket: str) -> None:
    with pytest.raises(ObjectNotFound):
        store.copy(bucket, "absent", to_key="k")


@pytest.mark.process
def test_an_object_too_large_for_one_copy_is_copied_in_parts(s3: S3ObjectStore, s3_bucket: str, seaweed: SeaweedFS) -> None:
    data = bytes(range(256)) * (11 * 2**12)
    s3.put(s3_bucket, "large", data)
    pair = seaweed.admin
    client = s3_client(
        endpoint_url=seaweed.endpoint,
        region="us-east-1",
        access_key=pair.access_key,
        secret_key=pair.secret_key,
        path_style=True,
    )
    copier = S3ObjectStore(client, largest_single_copy=PART)
    copied = copier.copy(s3_bucket, "large", to_key="copy")
    copier.close()
    assert (copied.etag[-2:], s3.read(s3_bucket, "copy") == data) == ("-3", True)


# Multipart uploads


def test_the_parts_of_an_unknown_upload_say_so(store: ObjectStore, bucket: str) -> None:
    with pytest.raises(UploadNotFound):
        store.parts(bucket, "k", "0" * 40)


def test_a_new_upload_has_no_parts(store: ObjectStore, bucket: str) -> None:
    upload = store.start_upload(bucket, "k", content_type="application/zip")
    assert list(store.parts(bucket, "k", upload)) == []


@pytest.mark.process
def test_completing_an_upload_without_parts_is_refused(s3: S3ObjectStore, s3_bucket: str) -> None:
    upload = s3.start_upload(s3_bucket, "k", content_type="application/zip")
    with pytest.raises(UploadIncomplete):
        s3.complete_upload(s3_bucket, "k", upload, [])


@pytest.mark.process
def test_completing_with_a_part_that_was_never_sent_is_refused(s3: S3ObjectStore, s3_bucket: str) -> None:
    upload = s3.start_upload(s3_bucket, "k", content_type="application/zip")
    send_parts(s3, s3_bucket, "k", upload, (1, b"h" * PART))
    sent = s3.parts(s3_bucket, "k", upload)
    with pytest.raises(UploadIncomplete):
        s3.complete_upload(s3_bucket, "k", upload, [*sent, Part(number=2, size=3, etag="0" * 32)])


def test_completing_an_unknown_upload_says_so(store: ObjectStore, bucket: str) -> None:
    with pytest.raises(UploadNotFound):
        store.complete_upload(bucket, "k", "0" * 40, [Part(number=1, size=1, etag="0" * 32)])


def test_an_aborted_upload_is_gone(store: ObjectStore, bucket: str) -> None:
    upload = store.start_upload(bucket, "k", content_type="application/zip")
    store.abort_upload(bucket, "k", upload)
    with pytest.raises(UploadNotFound):
        store.parts(bucket, "k", upload)


def test_aborting_twice_is_silent(store: ObjectStore, bucket: str) -> None:
    upload = store.start_upload(bucket, "k", content_type="application/zip")
    store.abort_upload(bucket, "k", upload)
    store.abort_upload(bucket, "k", upload)
    assert store.list(bucket).objects == ()


def test_an_upload_under_way_is_listed_by_its_key_and_id(store: ObjectStore, bucket: str) -> None:
    upload = store.start_upload(bucket, "jobs/d/shards/a b+c/ü.zip", content_type="application/zip")
    assert [(half.key, half.id) for half in store.half_uploads(bucket)] == [("jobs/d/shards/a b+c/ü.zip", upload)]


def test_an_aborted_upload_is_not_listed(store: ObjectStore, bucket: str) -> None:
    upload = store.start_upload(bucket, "k", content_type="application/zip")
    store.abort_upload(bucket, "k", upload)
    assert list(store.half_uploads(bucket)) == []


def test_the_uploads_of_an_absent_bucket_say_so(store: ObjectStore) -> None:
    with pytest.raises(BucketNotFound):
        store.half_uploads("nowhere")


def send_parts(s3: S3ObjectStore, bucket: str, key: str, upload: str, *parts: tuple[int, bytes]) -> None:
    for number, data in parts:
        url = s3.sign_part(bucket, key, upload, number, size=len(data), expires=SHORT)
        httpx.put(url, content=data).raise_for_status()


@pytest.mark.process
@pytest.mark.parametrize("key", ["shards/a.zip", *ODD_KEYS])
def test_an_upload_is_completed_from_the_stores_own_listing(s3: S3ObjectStore, s3_bucket: str, key: str) -> None:
    upload = s3.start_upload(s3_bucket, key, content_type="application/zip")
    send_parts(s3, s3_bucket, key, upload, (2, b"tail"))
    send_parts(s3, s3_bucket, key, upload, (1, b"h" * PART))
    s3.complete_upload(s3_bucket, key, upload, s3.parts(s3_bucket, key, upload))
    assert s3.read(s3_bucket, key) == b"h" * PART + b"tail"


@pytest.mark.process
def test_the_store_lists_parts_in_order_with_their_sizes(s3: S3ObjectStore, s3_bucket: str) -> None:
    upload = s3.start_upload(s3_bucket, "k", content_type="application/zip")
    send_parts(s3, s3_bucket, "k", upload, (2, b"tail"))
    send_parts(s3, s3_bucket, "k", upload, (1, b"h" * PART))
    assert [(part.number, part.size) for part in s3.parts(s3_bucket, "k", upload)] == [(1, PART), (2, 4)]


@pytest.mark.process
def test_a_part_sent_again_replaces_the_first(s3: S3ObjectStore, s3_bucket: str) -> None:
    upload = s3.start_upload(s3_bucket, "k", content_type="application/zip")
    send_parts(s3, s3_bucket, "k", upload, (1, b"one"))
    send_parts(s3, s3_bucket, "k", upload, (1, b"two!"))
    s3.complete_upload(s3_bucket, "k", upload, s3.parts(s3_bucket, "k", upload))
    assert s3.read(s3_bucket, "k") == b"two!"


@pytest.mark.process
def test_an_empty_file_can_be_uploaded_in_one_empty_part(s3: S3ObjectStore, s3_bucket: str) -> None:
    upload = s3.start_upload(s3_bucket, "k", content_type="application/zip")
    send_parts(s3, s3_bucket, "k", upload, (1, b""))
    s3.complete_upload(s3_bucket, "k", upload, s3.parts(s3_bucket, "k", upload))
    assert s3.head(s3_bucket, "k").size == 0


@pytest.mark.process
def test_a_finished_upload_is_gone(s3: S3ObjectStore, s3_bucket: str) -> None:
    upload = s3.start_upload(s3_bucket, "k", content_type="application/zip")
    send_parts(s3, s3_bucket, "k", upload, (1, b"one"))
    s3.complete_upload(s3_bucket, "k", upload, s3.parts(s3_bucket, "k", upload))
    with pytest.raises(UploadNotFound):
        s3.parts(s3_bucket, "k", upload)


# Signed URLs


@pytest.mark.process
@pytest.mark.parametrize("key", ODD_KEYS)
def test_a_signed_url_takes_and_gives_the_object(s3: S3ObjectStore, s3_bucket: str, key: str) -> None:
    httpx.put(s3.sign_put(s3_bucket, key, expires=SHORT), content=b"signed").raise_for_status()
    assert httpx.get(s3.sign_get(s3_bucket, key, expires=SHORT)).content == b"signed"


@pytest.mark.process
def test_a_signed_url_pins_an_old_version(s3: S3ObjectStore, s3_bucket: str) -> None:
    old = s3.put(s3_bucket, "k", b"old")
    s3.put(s3_bucket, "k", b"new")
    assert httpx.get(s3.sign_get(s3_bucket, "k", expires=SHORT, version=old.version)).content == b"old"


@pytest.mark.process
def test_a_signed_url_gives_a_range(s3: S3ObjectStore, s3_bucket: str) -> None:
    s3.put(s3_bucket, "k", b"0123456789")
    url = s3.sign_get(s3_bucket, "k", expires=SHORT)
    assert httpx.get(url, headers={"Range": "bytes=2-4"}).content == b"234"


@pytest.mark.process
def test_a_signed_url_names_the_file_for_a_browser(s3: S3ObjectStore, s3_bucket: str) -> None:
    s3.put(s3_bucket, "k", b"1")
    url = s3.sign_get(s3_bucket, "k", expires=SHORT, filename='mo"dèl.pt')
    disposition = httpx.get(url).headers["content-disposition"]
    assert disposition == "attachment; filename=\"mo_d_l.pt\"; filename*=UTF-8''mo%22d%C3%A8l.pt"


@pytest.mark.process
def test_more_bytes_than_signed_are_refused(s3: S3ObjectStore, s3_bucket: str) -> None:
    url = s3.sign_put(s3_bucket, "k", expires=SHORT, size=5)
    assert httpx.put(url, content=b"too long").status_code == 403


@pytest.mark.process
def test_a_part_of_another_size_than_signed_is_refused(s3: S3ObjectStore, s3_bucket: str) -> None:
    upload = s3.start_upload(s3_bucket, "k", content_type="application/zip")
    url = s3.sign_part(s3_bucket, "k", upload, 1, size=5, expires=SHORT)
    assert httpx.put(url, content=b"four").status_code == 403


@pytest.mark.process
def test_exactly_the_signed_size_is_accepted(s3: S3ObjectStore, s3_bucket: str) -> None:
    url = s3.sign_put(s3_bucket, "k", expires=SHORT, size=5)
    assert httpx.put(url, content=b"fives").status_code == 200


@pytest.mark.process
def test_a_url_for_another_key_is_refused(s3: S3ObjectStore, s3_bucket: str) -> None:
    url = s3.sign_put(s3_bucket, "mine", expires=SHORT)
    assert httpx.put(url.replace("/mine?", "/yours?"), content=b"1").status_code == 403


@pytest.mark.process
def test_a_url_for_another_version_is_refused(s3: S3ObjectStore, s3_bucket: str) -> None:
    old, new = s3.put(s3_bucket, "k", b"old"), s3.put(s3_bucket, "k", b"new")
    url = s3.sign_get(s3_bucket, "k", expires=SHORT, version=old.version)
    assert httpx.get(url.replace(str(old.version), str(new.version))).status_code == 403


@pytest.mark.process
def test_an_expired_url_is_refused(s3: S3ObjectStore, s3_bucket: str) -> None:
    s3.put(s3_bucket, "k", b"1")
    url = s3.sign_get(s3_bucket, "k", expires=timedelta(seconds=60))
    dated = re.sub(r"X-Amz-Date=\d{8}T\d{6}Z", "X-Amz-Date=20200101T000000Z", url)
    assert httpx.get(dated).status_code == 403


@pytest.mark.process
def test_a_url_lives_no_longer_than_asked(s3: S3ObjectStore, s3_bucket: str) -> None:
    from time import sleep

    s3.put(s3_bucket, "k", b"1")
    url = s3.sign_get(s3_bucket, "k", expires=timedelta(seconds=1))
    sleep(3)
    assert httpx.get(url).status_code == 403


@pytest.mark.process
def test_nothing_is_given_without_a_signature(s3: S3ObjectStore, s3_bucket: str) -> None:
    s3.put(s3_bucket, "k", b"1")
    assert httpx.get(s3.sign_get(s3_bucket, "k", expires=SHORT).partition("?")[0]).status_code == 403


# CORS


def preflight(s3: S3ObjectStore, bucket: str, origin: str) -> httpx.Response:
    asked = {"Origin": origin, "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "content-type"}
    return httpx.options(s3.sign_put(bucket, "k", expires=SHORT), headers=asked)


@pytest.mark.process
def test_a_browser_of_the_console_may_put(s3: S3ObjectStore, s3_bucket: str) -> None:
    assert preflight(s3, s3_bucket, ORIGIN).headers["access-control-allow-origin"] == ORIGIN


@pytest.mark.process
def test_a_browser_of_another_page_may_not(s3: S3ObjectStore, s3_bucket: str) -> None:
    assert "access-control-allow-origin" not in preflight(s3, s3_bucket, "http://evil.example").headers


@pytest.mark.process
def test_a_browser_may_read_the_etag_of_its_part(s3: S3ObjectStore, s3_bucket: str) -> None:
    url = s3.sign_put(s3_bucket, "k", expires=SHORT)
    answer = httpx.put(url, content=b"1", headers={"Origin": ORIGIN})
    assert "etag" in answer.headers["access-control-expose-headers"].lower()

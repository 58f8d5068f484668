"""SeaweedFS as our child: restarts, leftovers, keys to one bucket, events of real uploads."""

import os
import socket
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

import httpx
import psutil
import pytest
from botocore.exceptions import ClientError
from waitress import wasyncore
from waitress.server import create_server

from chalicelib.adapters.s3 import S3ObjectStore, s3_client
from chalicelib.contracts.account import BucketCredentials
from chalicelib.domain.errors import StoreUnavailable
from local_stack.bucket_keys import SeaweedBucketKeys
from local_stack.object_store import ObjectStoreDown, SeaweedFS
from local_stack.ports_file import kept_ports
from local_stack.upload_events import Event, UploadEvents

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

pytestmark = pytest.mark.process

NOBODY = "http://127.0.0.1:9/nobody"
SHORT = timedelta(minutes=5)


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.1)
    return holds()


# Life of the process


def test_objects_and_address_survive_a_restart(tmp_path: Path) -> None:
    first = SeaweedFS(tmp_path, NOBODY)
    first.start()
    objects = first.client()
    objects.create_bucket("kept", origins=[])
    objects.put("kept", "k", b"1")
    objects.close()
    first.stop()
    second = SeaweedFS(tmp_path, NOBODY)
    second.start()
    again = second.client()
    found = again.read("kept", "k")
    again.close()
    second.stop()
    assert (found, second.endpoint) == (b"1", first.endpoint)


KILLED_STACK = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from local_stack.object_store import SeaweedFS
    store = SeaweedFS(Path(sys.argv[1]), "http://127.0.0.1:9/nobody")
    store.start()
    print("up", flush=True)
    time.sleep(600)
    """
)


def killed_stack(folder: Path) -> int:
    """Start a stack of its own, kill it hard, and answer the id of the store it leaves."""
    with subprocess.Popen([sys.executable, "-c", KILLED_STACK, str(folder)], stdout=subprocess.PIPE, cwd=Path.cwd()) as stack:
        assert stack.stdout is not None
        assert stack.stdout.readline() == b"up\n"
        (child,) = psutil.Process(stack.pid).children()
        stack.kill()
        stack.wait()
    return int(child.pid)


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_it_ends_with_a_stack_that_was_killed(tmp_path: Path) -> None:
    left = killed_stack(tmp_path)
    assert within(60, lambda: gone(left))


def test_a_start_right_after_a_kill_ends_what_was_left(tmp_path: Path) -> None:
    left = killed_stack(tmp_path)
    store = SeaweedFS(tmp_path, NOBODY)
    store.start()
    ended = gone(left)
    store.stop()
    assert ended


def test_a_process_that_merely_has_the_old_number_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "process.json").write_text(f'{{"pid": {os.getpid()}, "started": 1.0}}')
    store = SeaweedFS(tmp_path, NOBODY)
    store.start()
    up = store.is_running()
    store.stop()
    assert up


def test_a_port_held_by_another_program_is_named(tmp_path: Path) -> None:
    port = kept_ports(tmp_path / "ports.json", ["s3"])["s3"]
    with closing(socket.create_server(("127.0.0.1", port))), pytest.raises(ObjectStoreDown, match=f"port {port} is held"):
        SeaweedFS(tmp_path, NOBODY).start()


@pytest.mark.parametrize("name", ["s3", "master_grpc"])
def test_a_new_port_that_somebody_takes_first_is_chosen_again(tmp_path: Path, name: str) -> None:
    store = SeaweedFS(tmp_path, NOBODY)
    chosen = kept_ports(tmp_path / "ports.json", [name])[name]
    with closing(socket.create_server(("127.0.0.1", chosen))):
        store.start()
        store.stop()
    assert kept_ports(tmp_path / "ports.json", [name])[name] != chosen


def test_a_data_folder_of_before_keeps_its_names(tmp_path: Path) -> None:
    (tmp_path / "filerldb2").mkdir()  # what SeaweedFS makes by default, and made before there was a setting
    for _ in range(2):
        store = SeaweedFS(tmp_path, NOBODY)
        store.start()
        store.stop()
    assert (any((tmp_path / "filerldb2").iterdir()), (tmp_path / "names").exists()) == (True, False)


def test_a_failed_start_shows_the_log(tmp_path: Path) -> None:
    (tmp_path / "filerldb2").write_text("not a folder")
    with pytest.raises(ObjectStoreDown, match=r"ended while starting:\n.+"):
        SeaweedFS(tmp_path, NOBODY).start()


def test_only_the_main_thread_may_start_it(tmp_path: Path) -> None:
    store, said = SeaweedFS(tmp_path, NOBODY), SimpleQueue[str]()

    def start() -> None:
        try:
            store.start()
        except RuntimeError as error:
            said.put(str(error))

    threading.Thread(target=start).start()
    assert "main thread" in said.get(timeout=30)


def test_stopping_what_does_not_run_is_silent(tmp_path: Path) -> None:
    store = SeaweedFS(tmp_path, NOBODY)
    store.stop()
    assert not store.is_running()


def test_it_listens_on_loopback_only(seaweed: SeaweedFS) -> None:
    (process,) = [p for p in psutil.Process().children(recursive=True) if p.name() == "weed" and p.cwd() == str(seaweed.data)]
    listening = {c.laddr.ip for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN}
    assert listening == {"127.0.0.1"}


@pytest.mark.parametrize("name", ["identities.json", "notification.toml"])
def test_its_secrets_are_for_their_owner_only(seaweed: SeaweedFS, name: str) -> None:
    assert stat.S_IMODE((seaweed.data / name).stat().st_mode) == 0o600


# Keys to one bucket


@pytest.fixture(scope="module")
def two_buckets(seaweed: SeaweedFS) -> None:
    admin = seaweed.client()
    for bucket in ("tu-ada", "tu-bob"):
        admin.create_bucket(bucket, origins=[])
        admin.put(bucket, "secret.txt", b"of its owner")
    admin.close()


@pytest.fixture(scope="module")
def adas(seaweed: SeaweedFS, two_buckets: None) -> BucketCredentials:
    return SeaweedBucketKeys(seaweed).issue("tu-ada")


@pytest.fixture
def as_ada(adas: BucketCredentials) -> Iterator[S3ObjectStore]:
    client = s3_client(
        endpoint_url=adas.endpoint_url,
        region=adas.region,
        access_key=adas.access_key_id,
        secret_key=adas.secret_access_key,
        path_style=True,
    )
    store = S3ObjectStore(client)
    yield store
    store.close()


def test_the_pair_reads_and_writes_its_own_bucket(as_ada: S3ObjectStore) -> None:
    as_ada.put("tu-ada", "mine.txt", b"1")
    assert as_ada.read("tu-ada", "mine.txt") == b"1"


def test_the_pair_lists_and_deletes_in_its_own_bucket(as_ada: S3ObjectStore) -> None:
    as_ada.put("tu-ada", "tmp/x", b"1")
    as_ada.delete("tu-ada", ["tmp/x"])
    assert as_ada.list("tu-ada", "tmp/").objects == ()


def test_the_pair_uploads_in_parts(as_ada: S3ObjectStore) -> None:
    upload = as_ada.start_upload("tu-ada", "parts.zip", content_type="application/zip")
    httpx.put(as_ada.sign_part("tu-ada", "parts.zip", upload, 1, size=3, expires=SHORT), content=b"one")
    assert as_ada.complete_upload("tu-ada", "parts.zip", upload, as_ada.parts("tu-ada", "parts.zip", upload)).size == 3


def refused(code: Callable[[], object]) -> bool:
    try:
        code()
    except (StoreUnavailable, ClientError) as error:
        return any(word in str(error) for word in ("AccessDenied", "403"))
    return False


FOREIGN: dict[str, Callable[[S3ObjectStore], object]] = {
    "list": lambda s3: s3.list("tu-bob"),
    "head": lambda s3: s3.head("tu-bob", "secret.txt"),
    "read": lambda s3: s3.read("tu-bob", "secret.txt"),
    "put": lambda s3: s3.put("tu-bob", "x", b"1"),
    "copy": lambda s3: s3.copy("tu-bob", "secret.txt", to_key="x"),
    "delete folder": lambda s3: s3.delete_prefix("tu-bob", "x/"),
    "upload": lambda s3: s3.start_upload("tu-bob", "x", content_type="text/plain"),
    "make a bucket": lambda s3: s3.create_bucket("tu-eve", origins=[]),
}


@pytest.mark.parametrize("act", FOREIGN.values(), ids=FOREIGN.keys())
def test_the_pair_opens_no_other_bucket(as_ada: S3ObjectStore, act: Callable[[S3ObjectStore], object]) -> None:
    assert refused(lambda: act(as_ada))


def test_a_url_signed_with_the_pair_opens_no_other_bucket(as_ada: S3ObjectStore) -> None:
    assert httpx.get(as_ada.sign_get("tu-bob", "secret.txt", expires=SHORT)).status_code == 403


@pytest.fixture
def raw(adas: BucketCredentials) -> Iterator["S3Client"]:
    client = s3_client(
        endpoint_url=adas.endpoint_url,
        region=adas.region,
        access_key=adas.access_key_id,
        secret_key=adas.secret_access_key,
        path_style=True,
    )
    yield client
    client.close()


def test_the_pair_does_not_delete_another_owners_object(raw: "S3Client", seaweed: SeaweedFS) -> None:
    with pytest.raises(ClientError):
        raw.delete_object(Bucket="tu-bob", Key="secret.txt")
    admin = seaweed.client()
    left = admin.read("tu-bob", "secret.txt")
    admin.close()
    assert left == b"of its owner"


def test_the_pair_sees_no_other_bucket_in_the_list(raw: "S3Client") -> None:
    assert {bucket["Name"] for bucket in raw.list_buckets()["Buckets"]} <= {"tu-ada"}


def test_the_pair_copies_nothing_out_of_another_bucket(raw: "S3Client") -> None:
    with pytest.raises(ClientError, match="AccessDenied"):
        raw.copy_object(Bucket="tu-ada", Key="stolen", CopySource={"Bucket": "tu-bob", "Key": "secret.txt"})


def test_the_pair_does_not_make_its_bucket_public(raw: "S3Client") -> None:
    with pytest.raises(ClientError, match="AccessDenied"):
        raw.put_bucket_policy(Bucket="tu-ada", Policy="{}")


def test_the_next_pair_ends_the_one_before(seaweed: SeaweedFS, two_buckets: None) -> None:
    keys = SeaweedBucketKeys(seaweed)
    earlier = keys.issue("tu-bob")
    keys.issue("tu-bob")
    client = s3_client(
        endpoint_url=earlier.endpoint_url,
        region=earlier.region,
        access_key=earlier.access_key_id,
        secret_key=earlier.secret_access_key,
        path_style=True,
    )
    with pytest.raises(ClientError, match="InvalidAccessKeyId"):
        client.list_objects_v2(Bucket="tu-bob")
    client.close()


def test_no_pair_is_issued_while_the_store_is_down(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        SeaweedBucketKeys(SeaweedFS(tmp_path, NOBODY)).issue("tu-ada")


# Events of real uploads


class Listening:
    """A store of its own whose events arrive in a queue."""

    def __init__(self, folder: Path) -> None:
        self.seen: SimpleQueue[Event] = SimpleQueue()
        self._events = UploadEvents(self.seen.put)
        self._sockets: dict[int, object] = {}
        self._server = create_server(self._events, map=self._sockets, host="127.0.0.1", port=0, threads=2)
        self._ended = threading.Event()
        self._loop = threading.Thread(target=self._serve, daemon=True)
        self.store = SeaweedFS(folder, f"http://127.0.0.1:{self._server.effective_port}{self._events.path}")

    def __enter__(self) -> "Listening":
        self._events.start()
        self._loop.start()
        self.store.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.store.stop()
        self._ended.set()
        self._server.pull_trigger()
        self._loop.join(10)
        self._server.task_dispatcher.shutdown()
        self._server.close()
        wasyncore.close_all(self._sockets)
        self._events.stop()

    def next(self) -> tuple[str, str]:
        event = self.seen.get(timeout=20)
        return event["detail-type"], event["detail"]["object"]["key"]

    def _serve(self) -> None:
        while not self._ended.is_set():
            wasyncore.loop(timeout=0.5, use_poll=True, map=self._sockets, count=1)


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    with Listening(tmp_path_factory.mktemp("listening")) as made:
        yield made


@pytest.fixture
def objects(listening: Listening) -> Iterator[S3ObjectStore]:
    store = listening.store.client()
    store.create_bucket("tu-a", origins=[])
    yield store
    store.close()


@pytest.mark.parametrize("key", ["jobs/w/shards/a.zip", "jobs/w/shards/a b+c/ü%20.zip"])
def test_a_put_raises_one_event_with_its_key(listening: Listening, objects: S3ObjectStore, key: str) -> None:
    objects.put("tu-a", key, b"1")
    objects.put("tu-a", "jobs/w/fence", b"1")
    assert {listening.next(), listening.next()} == {("Object Created", key), ("Object Created", "jobs/w/fence")}


def test_an_upload_in_parts_raises_one_event(listening: Listening, objects: S3ObjectStore) -> None:
    upload = objects.start_upload("tu-a", "jobs/w/shards/b.zip", content_type="application/zip")
    httpx.put(objects.sign_part("tu-a", "jobs/w/shards/b.zip", upload, 1, size=3, expires=SHORT), content=b"one")
    objects.complete_upload("tu-a", "jobs/w/shards/b.zip", upload, objects.parts("tu-a", "jobs/w/shards/b.zip", upload))
    objects.put("tu-a", "jobs/w/fence", b"1")
    assert {listening.next(), listening.next()} == {
        ("Object Created", "jobs/w/shards/b.zip"),
        ("Object Created", "jobs/w/fence"),
    }


def test_a_delete_raises_one_event(listening: Listening, objects: S3ObjectStore) -> None:
    objects.put("tu-a", "jobs/w/model/x.pt", b"1")
    created = listening.next()
    objects.delete("tu-a", ["jobs/w/model/x.pt"])
    assert (created, listening.next()) == (
        ("Object Created", "jobs/w/model/x.pt"),
        ("Object Deleted", "jobs/w/model/x.pt"),
    )


def test_other_tools_raise_the_same_events(listening: Listening, objects: S3ObjectStore) -> None:
    pair = SeaweedBucketKeys(listening.store).issue("tu-a")
    client = s3_client(
        endpoint_url=pair.endpoint_url,
        region=pair.region,
        access_key=pair.access_key_id,
        secret_key=pair.secret_access_key,
        path_style=True,
    )
    client.put_object(Bucket="tu-a", Key="jobs/w/configs/meta.json", Body=b"{}")
    client.close()
    assert listening.next() == ("Object Created", "jobs/w/configs/meta.json")


def test_the_signal_to_read_identities_again_does_not_end_it(listening: Listening) -> None:
    listening.store.reload()
    time.sleep(0.5)
    assert listening.store.is_running()

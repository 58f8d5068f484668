"""Uploads of a real client to a real stack, over a line on which everything goes wrong."""

import hashlib
import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import httpx
import pytest
from botocore.config import Config
from tutti_fl import Client, FolderMemory, Retries, Send, TuttiError
from tutti_fl.etags import is_same
from tutti_fl.shapes.files import ObjectInfo

from tests.whole.conftest import LiveStack
from tests.whole.relay import Cut, Passing, Relay, relayed

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

pytestmark = [pytest.mark.process, pytest.mark.slow]

MIB = 2**20
QUICK = Retries(base_s=0.01, longest_s=0.05, tries_in_outage=4)


@pytest.fixture(scope="module")
def store_url(ada: Client) -> str:
    ada.account.create_bucket()
    return ada.account.bucket().endpoint_url or ""


@pytest.fixture
def relay(stack: LiveStack, store_url: str) -> Iterator[Relay]:
    with relayed(stack.url, store_url) as relay:
        yield relay


@pytest.fixture(scope="module")
def token(stack: LiveStack) -> str:
    return stack.token("ada")


@pytest.fixture
def far(relay: Relay, token: str) -> Iterator[Client]:
    """Ada at the other end of the line."""
    with Client(relay.url, token, retries=Retries(base_s=0.05, longest_s=0.5)) as client:
        yield client


@pytest.fixture(scope="module")
def s3(ada: Client, store_url: str) -> Iterator["S3Client"]:
    keys = ada.account.bucket_credentials()
    client = boto3.client(
        "s3", endpoint_url=store_url, region_name=keys.region, aws_access_key_id=keys.access_key_id,
        aws_secret_access_key=keys.secret_access_key, config=Config(s3={"addressing_style": "path"}),
    )  # fmt: skip
    yield client
    client.close()


def noise(path: Path, size: int) -> Path:
    """A file that no compression and no repetition makes easier."""
    path.write_bytes(random.Random(size).randbytes(size))  # noqa: S311
    return path


def sha256_of_object(client: Client, key: str) -> str:
    digest = hashlib.sha256()
    with httpx.stream("GET", client.files.sign(key).url) as answer:
        for chunk in answer.iter_raw():
            digest.update(chunk)
    return digest.hexdigest()


def sha256_of_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def open_uploads(ada: Client, s3: "S3Client", key: str) -> list[str]:
    found = s3.list_multipart_uploads(Bucket=ada.account.bucket().name).get("Uploads", [])
    return [upload["Key"] for upload in found if upload["Key"] == key]


def test_a_part_damaged_on_its_way_is_refused_and_sent_again(ada: Client, far: Client, relay: Relay, tmp_path: Path) -> None:
    hit: list[int] = []

    def flip(passing: Passing) -> None:
        if passing.part == 2 and not hit:
            hit.append(2)
            passing.body = bytes([passing.body[0] ^ 1]) + passing.body[1:]

    relay.before = flip
    path = noise(tmp_path / "damaged.bin", 20 * MIB)
    far.upload([Send(path, "up/damaged.bin")])
    assert (relay.parts(400), sorted(relay.parts())) == ([2], [1, 2, 3])
    assert sha256_of_object(ada, "up/damaged.bin") == sha256_of_file(path)


def test_a_refused_url_is_signed_anew_for_its_part_alone(ada: Client, far: Client, relay: Relay, tmp_path: Path) -> None:
    spoiled: set[int] = set()

    def expire(passing: Passing) -> None:
        if passing.part is not None and passing.part not in spoiled:
            spoiled.add(passing.part)
            passing.target = passing.target.replace("X-Amz-Expires=", "X-Amz-Expires=1")

    relay.before = expire
    path = noise(tmp_path / "expired.bin", 20 * MIB)
    far.upload([Send(path, "up/expired.bin")])
    assert (sorted(relay.parts(403)), sorted(relay.parts())) == ([1, 2, 3], [1, 2, 3])
    assert sha256_of_object(ada, "up/expired.bin") == sha256_of_file(path)


def test_a_network_that_comes_back_ends_in_the_whole_file(ada: Client, far: Client, relay: Relay, tmp_path: Path) -> None:
    def go_down(passing: Passing) -> None:
        if passing.part == 3 and not relay.down and len(relay.parts()) < 3:
            relay.down = True
            threading.Timer(2.0, lambda: setattr(relay, "down", False)).start()
            raise Cut

    relay.before = go_down
    path = noise(tmp_path / "outage.bin", 30 * MIB)
    troubles: set[str] = set()
    far.upload([Send(path, "up/outage.bin")], progress=lambda progress: troubles.add(progress.trouble))
    assert sha256_of_object(ada, "up/outage.bin") == sha256_of_file(path)
    assert any("no answer from" in trouble for trouble in troubles)


def test_a_network_that_stays_away_keeps_what_arrived(relay: Relay, token: str, ada: Client, tmp_path: Path) -> None:
    def stay_down(passing: Passing) -> None:
        if passing.part is not None and len(relay.parts()) >= 2:
            relay.down = True
            raise Cut

    relay.before = stay_down
    path, memory = noise(tmp_path / "away.bin", 40 * MIB), FolderMemory(tmp_path / "memory")
    with Client(relay.url, token, retries=QUICK) as far:
        with pytest.raises(TuttiError):
            far.uploads.send([Send(path, "up/away.bin")], memory=memory, lanes=1)
        arrived = set(relay.parts())
        relay.down, relay.before = False, lambda _: None
        far.upload([Send(path, "up/away.bin")], memory=memory)
    assert (arrived, sorted(relay.parts())) == ({1, 2}, [1, 2, 3, 4, 5])
    assert sha256_of_object(ada, "up/away.bin") == sha256_of_file(path)


def test_a_file_that_changes_leaves_no_object_and_no_open_upload(
    ada: Client, far: Client, relay: Relay, s3: "S3Client", tmp_path: Path
) -> None:
    path = noise(tmp_path / "changing.bin", 20 * MIB)

    def write_to_it(passing: Passing) -> None:
        if passing.part == 2:
            with path.open("r+b") as file:
                file.write(b"another beginning")

    relay.before = write_to_it
    with pytest.raises(TuttiError, match="changed while it was uploaded"):
        far.upload([Send(path, "up/changing.bin")], memory=FolderMemory(tmp_path / "memory"))
    assert (ada.files.find("up/changing.bin"), open_uploads(ada, s3, "up/changing.bin")) == (None, [])


def test_a_file_that_shrinks_leaves_no_object_and_no_open_upload(
    ada: Client, far: Client, relay: Relay, s3: "S3Client", tmp_path: Path
) -> None:
    path = noise(tmp_path / "shrinking.bin", 20 * MIB)

    def cut_it_short(passing: Passing) -> None:
        if passing.path.endswith("/sign"):
            os.truncate(path, 9 * MIB)

    relay.before = cut_it_short
    with pytest.raises(TuttiError, match="changed while it was uploaded"):
        far.upload([Send(path, "up/shrinking.bin")])
    assert (ada.files.find("up/shrinking.bin"), open_uploads(ada, s3, "up/shrinking.bin")) == (None, [])


@pytest.mark.parametrize("sizes", [(17 * MIB, 17 * MIB), (17 * MIB, 9 * MIB), (100, 100)], ids=["same", "other", "small"])
def test_of_two_uploads_of_one_key_one_wins_whole_and_both_are_told_the_truth(
    stack: LiveStack, token: str, ada: Client, tmp_path: Path, sizes: tuple[int, int]
) -> None:
    key = f"up/race-{sizes[0]}-{sizes[1]}.bin"
    paths = [tmp_path / f"{number}.bin" for number in range(2)]
    for number, (path, size) in enumerate(zip(paths, sizes, strict=True)):
        path.write_bytes(bytes([number]) * size)
    for _ in range(3):
        answers = raced(stack.url, token, paths, key)
        there = next(item for item in ada.files.list(key))
        winner = [is_same(path, there) for path in paths]
        assert winner.count(True) == 1
        for path, answer in zip(paths, answers, strict=True):
            assert answer == "overwritten" if isinstance(answer, str) else is_same(path, answer)
        assert not isinstance(answers[winner.index(True)], str)


def raced(url: str, token: str, paths: list[Path], key: str) -> list[ObjectInfo | str]:
    """Both at once: the object that each was told of, or the code of its refusal."""
    answers: list[ObjectInfo | str] = ["", ""]
    gate = threading.Barrier(2)

    def upload(number: int) -> None:
        with Client(url, token) as client:
            gate.wait(30)
            try:
                answers[number] = client.upload([Send(paths[number], key)])[0]
            except TuttiError as error:
                answers[number] = error.code

    threads = [threading.Thread(target=upload, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return answers


@pytest.mark.timeout(900)
def test_5000_objects_are_uploaded_listed_and_found_again(
    ada: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A quiet machine of two cores takes about 60 s; the listing needs 5 pages."""
    for number in range(5000):
        (tmp_path / f"{number:04}").write_bytes(b"%d" % number)
    sends = [Send(tmp_path / f"{number:04}", f"many/{number:04}") for number in range(5000)]
    began = time.monotonic()
    made = ada.upload(sends)
    uploaded = time.monotonic() - began
    began = time.monotonic()
    listed = list(ada.files.list("many/"))
    with capsys.disabled():
        print(f"\n5,000 objects: uploaded in {uploaded:.0f} s, listed in {time.monotonic() - began:.1f} s")
    assert [item.key for item in listed] == [send.key for send in sends] == [item.key for item in made]
    assert ada.files.page("many/").cursor is not None
    assert all(is_same(send.path, item) for send, item in zip(sends, listed, strict=True))

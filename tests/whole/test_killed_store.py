"""The object store killed under a stack that runs, and with it: uploads go on, what was missed is looked for, and a store that
cannot come back ends the stack with a clear sentence."""

import hashlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tutti_fl.errors import TuttiError
from tutti_fl.meter import Progress
from tutti_fl.shapes.files import ObjectInfo
from tutti_fl.transfer import Send

from chalicelib.domain import object_keys
from tests.whole.builders import MODEL_DEF, folder
from tests.whole.conftest import job_run
from tests.whole.killable import KillableStack, faults, killable, until

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.timeout(900)]

LARGE = 160 * 2**20
PAUSES_S = 12
GIVES_UP_WITHIN_S = 30 * PAUSES_S


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KillableStack]:
    """One data folder for all; every test leaves a stack that runs."""
    with killable(tmp_path_factory.mktemp("store")) as made:
        with made.client() as ada:
            ada.account.create_bucket()
        yield made


def large_file(place: Path) -> str:
    """A file of twenty parts; its digest."""
    block, digest = bytes(range(256)) * 4096, hashlib.sha256()
    with place.open("wb") as out:
        for number in range(LARGE // len(block)):
            piece = number.to_bytes(8, "big") + block[8:]
            out.write(piece)
            digest.update(piece)
    return digest.hexdigest()


def digest_of(url: str) -> str:
    """The digest of what the URL gives."""
    digest = hashlib.sha256()
    with httpx.stream("GET", url, timeout=60) as answer:
        for chunk in answer.iter_bytes():
            digest.update(chunk)
    return digest.hexdigest()


def put_unheard(stack: KillableStack, name: str) -> None:
    """A script put into a workspace that is checked already, by a URL signed before the stack was frozen."""
    with stack.client() as ada:
        ada.workspaces.create(name)
        bucket = ada.account.bucket().name
        assert "model_def_missing" in [finding.code for finding in ada.workspaces.check(name).findings]
    with stack.objects() as objects:
        stack.freeze()
        objects.put(bucket, f"{object_keys.workspace(name)}scripts/model_def.py", MODEL_DEF.encode())


def is_checked_with_its_script(stack: KillableStack, name: str) -> bool:
    """Whether the newest report knows the script; asking raises no check. While the store is away there is no answer."""
    with stack.client() as ada:
        try:
            report = ada.workspaces.get(name).report
        except TuttiError as error:
            if error.code != "store_unavailable":
                raise
            return False
    return report is not None and "model_def_missing" not in [finding.code for finding in report.findings]


@pytest.mark.parametrize("killed", ["the store alone", "the whole stack"])
def test_an_upload_goes_on_where_it_was(killed: str, stack: KillableStack, tmp_path: Path) -> None:
    file, key = tmp_path / "large.zip", f"{killed.replace(' ', '-')}.zip"
    digest = large_file(file)
    under_way, sent = threading.Event(), list[ObjectInfo]()

    def watch(progress: Progress) -> None:
        if progress.bytes_done >= LARGE // 4:
            under_way.set()

    def upload() -> None:
        with stack.client() as ada:
            sent.extend(ada.upload([Send(file, key)], progress=watch))

    thread = threading.Thread(target=upload)
    thread.start()
    under_way.wait(120)
    if killed == "the store alone":
        stack.store().kill()
    else:
        stack.kill()
        stack.up()
    thread.join(300)
    assert [one.size for one in sent] == [LARGE]
    with stack.client() as ada:
        assert digest_of(ada.files.sign(key).url) == digest


def test_a_job_goes_on_when_the_store_is_killed_in_a_round(stack: KillableStack, tmp_path: Path) -> None:
    with stack.client() as ada:
        begun = job_run(ada, folder(tmp_path / "f"), "store-in-a-round", rounds=8, local_epochs=30)
        begun.check()
        job_id = begun.launch().id
        until(lambda: stack.job(job_id)["rounds_done"] >= 1, "a round is done")
        stack.store().kill()
        begun.follow()
    job = stack.job(job_id)
    assert (job["state"], job["rounds_done"]) == ("FINISHED", 8), job["reason"]
    assert faults(stack, job_id, sites=2) == []


def test_a_job_is_collected_though_the_store_is_killed_at_its_end(stack: KillableStack, tmp_path: Path) -> None:
    with stack.client() as ada:
        begun = job_run(ada, folder(tmp_path / "f"), "store-at-the-end", rounds=2)
        begun.check()
        job_id = begun.launch().id
        until(lambda: stack.job(job_id)["finishing_at"] is not None, "training is over")
        stack.store().kill()
        begun.follow()
    assert stack.job(job_id)["state"] == "FINISHED", stack.job(job_id)["reason"]
    assert faults(stack, job_id, sites=2) == []


def test_a_file_put_while_nobody_listened_is_checked_when_the_stack_is_up_again(stack: KillableStack) -> None:
    put_unheard(stack, "unheard")
    stack.kill()
    stack.up()
    until(lambda: is_checked_with_its_script(stack, "unheard"), "the file is checked", patience_s=60)


def test_a_file_whose_event_died_with_the_store_is_checked_when_the_store_is_back(stack: KillableStack) -> None:
    put_unheard(stack, "died")
    stack.store().kill()
    stack.thaw()
    until(lambda: is_checked_with_its_script(stack, "died"), "the file is checked")


def test_a_store_that_cannot_come_back_ends_the_stack_with_a_clear_sentence(stack: KillableStack) -> None:
    port = int(stack.s3_url.rpartition(":")[2])
    stack.freeze()
    stack.store().kill()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        until(lambda: bound(other, port), "the port is free", patience_s=30)
        other.listen()
        stack.thaw()
        status = stack.status(GIVES_UP_WITHIN_S)
    said = stack.said()
    stack.close()
    stack.up()
    assert status == 1
    assert f"port {port} is held by another program" in said
    assert "Traceback" not in said


def bound(to: socket.socket, port: int) -> bool:
    """Whether the port could be taken."""
    try:
        to.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True

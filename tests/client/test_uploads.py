"""The upload engine against a store that fails."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tutti_fl import FolderMemory, Progress, Send, TransferFailed, TuttiError

from tests.client.builders import Call, FakeTutti, Reply, client_of, refusal, served

FAILURES = {"busy": Reply(503), "drop": Reply(drop=True), "refused": Reply(403)}


class FailingParts:
    """Fails each part as often and in the ways it is told, and counts what was sent."""

    def __init__(self, plan: dict[tuple[str, int], list[str]]) -> None:
        self.plan = {part: list(ways) for part, ways in plan.items()}
        self.sent: Counter[tuple[str, int]] = Counter()
        self.tutti: FakeTutti | None = None

    def __call__(self, call: Call) -> Reply | None:
        if call.method != "PUT" or self.tutti is None:
            return None
        part = (self.tutti.uploads[call.path.rsplit("/", 1)[-1]].key, int(call.query["part"]))
        self.sent[part] += 1
        ways = self.plan.get(part)
        return FAILURES[ways.pop()] if ways else None


def files_of(folder: Path, sizes: list[int]) -> list[Send]:
    """Files of these sizes, every one with content of its own."""
    sends = []
    for number, size in enumerate(sizes):
        path = folder / f"file-{number}"
        path.write_bytes(bytes((number + 7 * i) % 251 for i in range(size)))
        sends.append(Send(path, f"in/{number}"))
    return sends


def contents(sends: list[Send]) -> dict[str, bytes]:
    return {send.key: send.path.read_bytes() for send in sends}


def broken_part(number: int) -> FailingParts:
    return FailingParts({("in/0", number): ["busy"] * 5})


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.integers(0, 5500), min_size=1, max_size=4),
    failures=st.dictionaries(
        st.tuples(st.integers(0, 3), st.integers(1, 6)), st.lists(st.sampled_from(sorted(FAILURES)), min_size=1, max_size=4)
    ),
)
def test_every_object_is_whole_and_no_part_is_sent_oftener_than_it_failed(
    tmp_path: Path, sizes: list[int], failures: dict[tuple[int, int], list[str]]
) -> None:
    fails = FailingParts({(f"in/{file}", part): ways for (file, part), ways in failures.items()})
    sends = files_of(tmp_path, sizes)
    with served(FakeTutti()) as tutti, client_of(tutti) as client:
        fails.tutti = tutti
        tutti.breaks = fails
        client.upload(sends)
    parts = {(s.key, n) for s, size in zip(sends, sizes, strict=True) for n in range(1, max(1, -(-size // 1000)) + 1)}
    wanted = {part: 1 + len(failures.get((int(part[0][3:]), part[1]), ())) for part in parts}
    assert (tutti.objects, dict(fails.sent)) == (contents(sends), wanted)


def test_the_objects_come_back_in_the_order_of_the_files(tutti: FakeTutti, tmp_path: Path) -> None:
    with client_of(tutti) as client:
        made = client.upload(files_of(tmp_path, [3000, 0, 1500]))
    assert [(item.key, item.size) for item in made] == [("in/0", 3000), ("in/1", 0), ("in/2", 1500)]


def test_a_part_that_never_gets_through_is_named(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.breaks = fails = broken_part(2)
    fails.tutti = tutti
    with client_of(tutti) as client, pytest.raises(TransferFailed, match="part 2 of file-0"):
        client.upload(files_of(tmp_path, [3000]))


def resumed(tutti: FakeTutti, tmp_path: Path, *, touched: bool = False) -> Counter[tuple[str, int]]:
    """What a second attempt sends after the first broke off at part 3."""
    sends, memory = files_of(tmp_path, [3000]), FolderMemory(tmp_path / "memory")
    tutti.breaks = fails = broken_part(3)
    fails.tutti = tutti
    with client_of(tutti) as client:
        with pytest.raises(TransferFailed):
            client.uploads.send(sends, memory=memory, lanes=1)
        if touched:
            sends[0].path.write_bytes(b"x" * 3000)
        fails.sent.clear()
        client.uploads.send(sends, memory=memory)
    assert tutti.objects == contents(sends)
    return fails.sent


def test_a_second_attempt_sends_only_what_the_store_does_not_have(tutti: FakeTutti, tmp_path: Path) -> None:
    assert resumed(tutti, tmp_path) == {("in/0", 3): 1}


def test_a_file_that_changed_since_the_first_attempt_is_sent_whole(tutti: FakeTutti, tmp_path: Path) -> None:
    assert resumed(tutti, tmp_path, touched=True) == {("in/0", 1): 1, ("in/0", 2): 1, ("in/0", 3): 1}


def test_a_resumed_upload_that_the_store_has_dropped_starts_over(tutti: FakeTutti, tmp_path: Path) -> None:
    sends, memory = files_of(tmp_path, [3000]), FolderMemory(tmp_path / "memory")
    tutti.breaks = fails = broken_part(3)
    fails.tutti = tutti
    with client_of(tutti) as client:
        with pytest.raises(TransferFailed):
            client.uploads.send(sends, memory=memory)
        tutti.uploads.clear()
        tutti.breaks = lambda _: None
        client.uploads.send(sends, memory=memory)
    assert tutti.objects == contents(sends)


def test_an_expired_signature_is_renewed(tutti: FakeTutti, tmp_path: Path) -> None:
    def expire_once(call: Call) -> Reply | None:
        if call.method == "PUT" and len(tutti.asked("POST", "/sign")) == 1:
            tutti.expire_signatures()
        return None

    tutti.breaks = expire_once
    sends = files_of(tmp_path, [2500])
    with client_of(tutti) as client:
        client.upload(sends)
    assert tutti.objects == contents(sends)


def test_a_part_that_the_store_has_at_another_size_is_sent_again(tutti: FakeTutti, tmp_path: Path) -> None:
    cut: list[Call] = []

    def cut_the_second(call: Call) -> Reply | None:
        if call.method != "PUT" or call.query["part"] != "2" or cut:
            return None
        cut.append(call)
        tutti.uploads[call.path.rsplit("/", 1)[-1]].parts[2] = call.body[:-1]
        return Reply()

    tutti.breaks = cut_the_second
    sends = files_of(tmp_path, [2500])
    with client_of(tutti) as client:
        client.upload(sends)
    assert tutti.objects == contents(sends)


def test_an_upload_counts_as_done_when_only_the_answer_was_lost(tutti: FakeTutti, tmp_path: Path) -> None:
    lost: list[Call] = []

    def lose_the_answer(call: Call) -> Reply | None:
        if not call.path.endswith("/complete") or lost:
            return None
        lost.append(call)
        upload_id = call.path.split("/")[-2]
        tutti._complete(upload_id, tutti.uploads[upload_id])
        return Reply(drop=True)

    tutti.breaks = lose_the_answer
    with client_of(tutti) as client:
        made = client.upload(files_of(tmp_path, [2500]))
    assert made[0].size == 2500


def test_no_etag_is_ever_sent(tutti: FakeTutti, tmp_path: Path) -> None:
    with client_of(tutti) as client:
        client.upload(files_of(tmp_path, [2500]))
    assert [call.json for call in tutti.asked("POST", "/complete")] == [{}]


def test_the_store_never_sees_the_token(tutti: FakeTutti, tmp_path: Path) -> None:
    with client_of(tutti) as client:
        client.upload(files_of(tmp_path, [2500]))
    puts = [call for call in tutti.calls if call.method == "PUT"]
    assert [call.headers.get("Authorization") for call in puts] == [None] * 3


def test_a_file_that_changes_while_it_is_uploaded_makes_no_object(tutti: FakeTutti, tmp_path: Path) -> None:
    sends = files_of(tmp_path, [2500])

    def change_it(call: Call) -> Reply | None:
        if call.method == "PUT":
            sends[0].path.write_bytes(b"another")
        return None

    tutti.breaks = change_it
    with client_of(tutti) as client, pytest.raises(TuttiError, match="changed while it was uploaded"):
        client.upload(sends)
    assert tutti.objects == {}


def test_progress_ends_at_the_whole_also_when_parts_failed(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.breaks = fails = FailingParts({("in/0", 2): ["drop", "busy"], ("in/1", 1): ["refused"]})
    fails.tutti = tutti
    told: list[Progress] = []
    with client_of(tutti) as client:
        client.upload(files_of(tmp_path, [2500, 10]), progress=told.append)
    assert told[-1] == Progress(files=2, files_done=2, bytes=2510, bytes_done=2510)


def test_a_refusal_of_the_api_ends_the_upload_with_its_code(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.breaks = lambda call: refusal(409, "no_bucket") if call.path == "/api/uploads" else None
    with client_of(tutti) as client, pytest.raises(TuttiError) as refused:
        client.upload(files_of(tmp_path, [10, 10]))
    assert refused.value.code == "no_bucket"


def test_five_lanes_share_many_files(tutti: FakeTutti, tmp_path: Path) -> None:
    sends = files_of(tmp_path, [1200] * 40)
    with client_of(tutti) as client:
        client.upload(sends)
    assert tutti.objects == contents(sends)

"""The upload engine against a store that fails."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tutti_fl import Client, FolderMemory, Progress, Retries, Send, TransferFailed, TuttiError
from tutti_fl.uploads import Uploads

from tests.client.builders import TOKEN, Call, FakeTutti, Reply, client_of, refusal, served

CASES = Path(__file__).parents[1] / "vectors" / "cases"
FAILURES = {"busy": Reply(503), "drop": Reply(drop=True), "refused": Reply(403)}


@pytest.fixture
def tutti() -> Iterator[FakeTutti]:
    """With parts so small that every file has some."""
    with served(FakeTutti(part_size=1000)) as fake:
        yield fake


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
    with served(FakeTutti(part_size=1000)) as tutti, client_of(tutti) as client:
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
    assert replace(told[-1], speed=None) == Progress(files=2, files_done=2, bytes=2510, bytes_done=2510)


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


def flipped(body: bytes) -> bytes:
    return bytes([body[0] ^ 1]) + body[1:]


def test_a_part_that_arrives_damaged_is_refused_and_sent_again(tutti: FakeTutti, tmp_path: Path) -> None:
    hit: list[Call] = []

    def flip_a_bit_once(call: Call) -> Reply | None:
        if call.method == "PUT" and call.query["part"] == "2" and not hit:
            hit.append(call)
            call.body = flipped(call.body)
        return None

    tutti.breaks = flip_a_bit_once
    sends = files_of(tmp_path, [3000])
    with client_of(tutti) as client:
        client.upload(sends)
    sent = Counter(call.query["part"] for call in tutti.calls if call.method == "PUT")
    assert (tutti.objects, sent) == (contents(sends), {"1": 1, "2": 2, "3": 1})


def test_a_line_that_damages_everything_is_said_so(tutti: FakeTutti, tmp_path: Path) -> None:
    def flip(call: Call) -> Reply | None:
        if call.method == "PUT":
            call.body = flipped(call.body)
        return None

    tutti.breaks = flip
    with client_of(tutti) as client, pytest.raises(TransferFailed, match="it arrived damaged and was refused"):
        client.upload(files_of(tmp_path, [10]))


def test_a_resumed_part_that_is_not_the_files_is_sent_again(tutti: FakeTutti, tmp_path: Path) -> None:
    sends, memory = files_of(tmp_path, [3000]), FolderMemory(tmp_path / "memory")
    tutti.breaks = fails = broken_part(3)
    fails.tutti = tutti
    with client_of(tutti) as client:
        with pytest.raises(TransferFailed):
            client.uploads.send(sends, memory=memory, lanes=1)
        next(iter(tutti.uploads.values())).parts[1] = b"x" * 1000
        fails.sent.clear()
        client.uploads.send(sends, memory=memory)
    assert (tutti.objects, fails.sent) == (contents(sends), {("in/0", 1): 1, ("in/0", 3): 1})


def test_an_upload_that_cannot_be_resumed_is_dropped_when_it_fails(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.breaks = fails = FailingParts({("in/0", 1): ["busy"] * 5})
    fails.tutti = tutti
    with client_of(tutti) as client, pytest.raises(TransferFailed):
        client.uploads.send(files_of(tmp_path, [10]), memory=FolderMemory(tmp_path / "memory"))
    assert tutti.uploads == {}


def test_a_file_that_vanishes_ends_the_upload_and_leaves_nothing_half(tutti: FakeTutti, tmp_path: Path) -> None:
    sends = files_of(tmp_path, [2500])

    def vanish(call: Call) -> Reply | None:
        if call.path.endswith("/sign"):
            sends[0].path.unlink(missing_ok=True)
        return None

    tutti.breaks = vanish
    with client_of(tutti) as client, pytest.raises((TuttiError, FileNotFoundError)):
        client.upload(sends)
    assert (tutti.objects, tutti.uploads) == ({}, {})


def completed_by_another(tutti: FakeTutti, content: bytes) -> Callable[[Call], Reply | None]:
    """This upload is completed, another one of the same name right after it, and the first one's answer is lost."""
    lost: list[Call] = []

    def race(call: Call) -> Reply | None:
        if not call.path.endswith("/complete") or lost:
            return None
        lost.append(call)
        upload_id = call.path.split("/")[-2]
        tutti._complete(upload_id, tutti.uploads[upload_id])
        tutti.objects[tutti.uploads[upload_id].key] = content
        tutti.etags.clear()
        return Reply(drop=True)

    return race


@pytest.mark.parametrize(("other", "code"), [(b"y" * 2500, "overwritten"), (b"z" * 7, "upload_not_found")])
def test_who_was_overwritten_at_the_same_moment_is_told_so(tutti: FakeTutti, tmp_path: Path, other: bytes, code: str) -> None:
    tutti.breaks = completed_by_another(tutti, other)
    with client_of(tutti) as client, pytest.raises(TuttiError) as told:
        client.upload(files_of(tmp_path, [2500]))
    assert told.value.code == code


def test_an_upload_that_another_run_of_the_same_folder_completed_is_done(tutti: FakeTutti, tmp_path: Path) -> None:
    sends, memory = files_of(tmp_path, [3000]), FolderMemory(tmp_path / "memory")
    tutti.breaks = fails = broken_part(3)
    fails.tutti = tutti

    def complete_elsewhere(call: Call) -> Reply | None:
        if call.method == "PUT":
            upload_id = call.path.rsplit("/", 1)[-1]
            upload = tutti.uploads[upload_id]
            upload.parts[3] = sends[0].path.read_bytes()[2000:]
            tutti._complete(upload_id, upload)
        return None

    with client_of(tutti) as client:
        with pytest.raises(TransferFailed):
            client.uploads.send(sends, memory=memory, lanes=1)
        tutti.breaks = complete_elsewhere
        made = client.uploads.send(sends, memory=memory)
    assert (made[0].size, tutti.objects) == (3000, contents(sends))


def test_a_network_that_comes_back_is_waited_for_and_said_so(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.breaks = fails = FailingParts({("in/0", 1): ["drop"] * 9})
    fails.tutti = tutti
    told: list[str] = []
    retries = Retries(tries=2, tries_in_outage=12, pause=lambda _: None)
    sends = files_of(tmp_path, [10])
    with Client(tutti.url, TOKEN, retries=retries) as client:
        client.upload(sends, progress=lambda progress: told.append(progress.trouble))
    assert (tutti.objects, told[-1], any("no answer from the store" in trouble for trouble in told)) == (
        contents(sends),
        "",
        True,
    )


def test_a_network_that_stays_away_is_given_up_with_a_way_to_go_on(tmp_path: Path, tutti: FakeTutti) -> None:
    tutti.breaks = lambda call: Reply(drop=True) if call.method == "PUT" else None
    with client_of(tutti) as client, pytest.raises(TransferFailed, match="no answer from the store") as failed:
        client.upload(files_of(tmp_path, [10]))
    assert failed.value.hint == "Run it again: what arrived is kept."


def test_a_store_that_is_full_is_told_in_its_own_words(tutti: FakeTutti, tmp_path: Path) -> None:
    body = b"<Error><Code>InternalError</Code><Message>no space left on device.</Message></Error>"
    tutti.breaks = lambda call: Reply(500, body=body) if call.method == "PUT" else None
    wanted = r"the store answered 500 \(InternalError: no space left on device\)"
    with client_of(tutti) as client, pytest.raises(TransferFailed, match=wanted):
        client.upload(files_of(tmp_path, [10]))


def test_400_parts_of_10_s_each_meet_no_expired_url(tutti: FakeTutti, tmp_path: Path) -> None:
    """upl-url-expires, in made-up time: the URLs open for 1,800 s, the upload takes 4,000."""
    trace = json.loads((CASES / "upl-url-expires" / "trace.json").read_text())
    tutti.expiry_s = trace["url_valid_s"]
    clock, signed, sent, late = [0.0], dict[str, float](), Counter[str](), list[str]()

    def pass_time(call: Call) -> Reply | None:
        if call.path.endswith("/sign"):
            signed.update({str(number): clock[0] for number in call.json["numbers"]})
        if call.method == "PUT":
            part = call.query["part"]
            sent[part] += 1
            late.extend([part] if clock[0] - signed[part] > trace["url_valid_s"] else [])
            clock[0] += trace["seconds_per_part"]
        return None

    tutti.breaks = pass_time
    sends = files_of(tmp_path, [1000 * trace["parts"]])
    with client_of(tutti) as client:
        Uploads(client.transport, clock=lambda: clock[0]).send(sends, lanes=1)
    assert (tutti.objects == contents(sends), len(sent), set(sent.values()), late) == (True, trace["parts"], {1}, [])


def test_a_url_that_grew_old_while_it_waited_is_not_used(tutti: FakeTutti, tmp_path: Path) -> None:
    clock = [0.0]

    def slow(call: Call) -> Reply | None:
        if call.method == "PUT":
            clock[0] += 1000
        return None

    tutti.breaks = slow
    with client_of(tutti) as client:
        Uploads(client.transport, clock=lambda: clock[0]).send(files_of(tmp_path, [5000]), lanes=1)
    asked = [call.json["numbers"] for call in tutti.asked("POST", "/sign")]
    assert asked == [[1, 2, 3, 4, 5], [3], [4], [5]], "they open for 3,600 s, of which half is used"


def test_the_client_tells_nobody_the_time(tutti: FakeTutti, tmp_path: Path) -> None:
    """upl-clock-skew: dates and signatures are made by the platform only."""
    with client_of(tutti) as client:
        client.upload(files_of(tmp_path, [2500]))
    assert [name for call in tutti.calls for name in call.headers if name in ("Date", "X-Amz-Date")] == []

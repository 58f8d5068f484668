"""A worker that prints 200,000 lines: its job is as fast as a quiet one's, and nothing fills up."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from tutti_fl import Client

from tests.whole.builders import folder, spoiled
from tests.whole.conftest import LiveStack, job_run

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(900)]

ROUNDS = 4
LINES = 200_000
BURST = 64 << 20
RATE = 1 << 20

TALK = f"""
    torch.set_num_threads(1)  # the second processor is for whoever reads the lines
    out = sys.stdout if env["aloud"] else open(os.devnull, "w", buffering=1)
    err = sys.stderr if env["aloud"] else open(os.devnull, "w", buffering=1)
    speak = logger.info if env["aloud"] else lambda text: print(text, file=err)
    for number in range({LINES // ROUNDS // 50}):
        for each in range(40):
            print(f"batch {{number}}.{{each}} " + "loss 0.123456 " * 24, file=out)
        for each in range(8):
            print(f"careful {{number}}.{{each}} " + "x" * 300, file=err)
        speak(f"step {{number}}")
        for percent in range(100):
            print(f"\\r{{percent:3d}}% |" + "#" * 20, end="", file=err)
        print(file=err)
        model.layer.weight.data.add_(torch.randn(300, 300).matmul(torch.randn(300, 300)).mean() * 0)
    print("the last words of round " + str(env["CURRENT_ROUND"]), file=out)
"""
CHATTY = spoiled("    epochs = int(env", f"{TALK}    epochs = int(env").replace("import os\n", "import os\nimport sys\n", 1)


@dataclass
class Watch:
    """What was seen while a job ran."""

    most_disk: int = 0
    pages_s: list[float] = field(default_factory=list)


@contextmanager
def watching(client: Client, work: Path, job_id: str) -> Iterator[Watch]:
    """Look at the workers' folders and ask for a page of the log, again and again."""
    seen, over = Watch(), threading.Event()

    def look() -> None:
        while not over.wait(0.5):
            seen.most_disk = max(seen.most_disk, size_below(work))
            began = time.monotonic()
            client.transport.call("GET", f"/jobs/{job_id}/logs", query={"after": 0})
            seen.pages_s.append(time.monotonic() - began)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def size_below(folder: Path) -> int:
    """The bytes of all files that are there at this moment."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size
        except OSError:
            continue
    return total


@dataclass(frozen=True)
class Ran:
    """A job that has ended, and what it left."""

    seconds: float
    lines: list[str]
    log_bytes: int
    records_grew: int
    watch: Watch


def ran(client: Client, stack: LiveStack, where: Path, name: str, *, aloud: bool) -> Ran:
    """Run the same training to its end, aloud or into nothing."""
    before = size_of_records(stack)
    begun = job_run(client, folder(where, shards=1, model_def=CHATTY), name, rounds=ROUNDS, local_epochs=1, aloud=aloud)
    begun.check()
    job_id = begun.launch().id
    with watching(client, stack.data / "work" / job_id, job_id) as watch:
        begun.follow()
    assert client.jobs.get(job_id).state == "FINISHED", client.jobs.get(job_id).reason
    rounds = client.jobs.rounds(job_id)
    texts = [httpx.get(segment.url, timeout=60).text for segment in client.jobs.logs(job_id, "site-1")]
    lines = [json.loads(line)["text"] for text in texts for line in text.splitlines()]
    return Ran(
        seconds=sum(each.seconds or 0.0 for each in rounds[1:]),
        lines=lines,
        log_bytes=sum(len(text.encode()) for text in texts),
        records_grew=size_of_records(stack) - before,
        watch=watch,
    )


def size_of_records(stack: LiveStack) -> int:
    """What SQLite holds on the disk."""
    return sum(path.stat().st_size for path in stack.data.glob("*.db*"))


@dataclass(frozen=True)
class Twins:
    """The same training twice."""

    quiet: Ran
    chatty: Ran
    took: float


@pytest.fixture(name="twins", scope="module")
def both_ran(ada: Client, stack: LiveStack, tmp_path_factory: pytest.TempPathFactory) -> Twins:
    """First the quiet one, then the chatty one."""
    where = tmp_path_factory.mktemp("twins")
    quiet = ran(ada, stack, where / "quiet", "quiet", aloud=False)
    began = time.monotonic()
    return Twins(quiet, ran(ada, stack, where / "chatty", "chatty", aloud=True), time.monotonic() - began)


@pytest.mark.timed
def test_a_chatty_worker_is_not_slower_than_a_quiet_one(twins: Twins) -> None:
    # Both format and write the same text, one to nowhere; looking at it takes a second processor for a while.
    assert twins.chatty.seconds <= 2 * twins.quiet.seconds + 1


def test_every_line_is_in_the_log_or_counted_as_dropped(twins: Twins) -> None:
    lines = twins.chatty.lines
    said = [int(line[1:].split()[0]) for line in lines if line.startswith("[") and "lines dropped" in line]
    assert len(lines) - len(said) + sum(said) >= LINES


def test_the_last_lines_before_the_end_are_kept(twins: Twins) -> None:
    assert f"the last words of round {ROUNDS - 1}" in twins.chatty.lines


def test_a_progress_bar_is_one_line(twins: Twins) -> None:
    bars = {line for line in twins.chatty.lines if "% |###" in line}
    assert bars == {" 99% |" + "#" * 20}


def test_the_log_in_the_bucket_is_bounded(twins: Twins) -> None:
    assert twins.chatty.log_bytes <= BURST + RATE * twins.took + (10 << 20)


def test_the_workers_disk_does_not_grow_with_the_log(twins: Twins) -> None:
    assert twins.chatty.watch.most_disk <= twins.quiet.watch.most_disk + (4 << 20)


def test_the_records_hold_a_line_a_segment_and_no_more(twins: Twins) -> None:
    assert twins.chatty.records_grew <= twins.quiet.records_grew + (8 << 20)


def test_pages_of_the_log_come_fast_meanwhile(twins: Twins) -> None:
    pages = sorted(twins.chatty.watch.pages_s)
    assert pages[len(pages) * 9 // 10] <= 2.0

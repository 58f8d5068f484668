"""A file of 3 GiB by a client whose memory stays flat; the stack and everything in it is deleted afterwards."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tutti_fl import Client

from tests.whole.conftest import LiveStack, started

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(900)]

GIB, MIB = 2**30, 2**20
SIZE = 3 * GIB
MOST_MEMORY = 200 * MIB
"""A client that holds no part in memory needs about 60 MB, most of it Python and its libraries."""

UPLOADS = """
import json, re, sys, time
from pathlib import Path
from tutti_fl import Client, Send
url, token, path, key = sys.argv[1:]
with Client(url, token) as client:
    began = time.monotonic()
    made = client.upload([Send(Path(path), key)])[0]
    seconds = time.monotonic() - began
# Not ru_maxrss, which takes the size of the process that started this one over.
most = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
print(json.dumps({"size": made.size, "seconds": seconds, "memory": most}))
"""


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of which nothing is kept: pytest would keep it for three sessions."""
    path = tmp_path_factory.mktemp("large")
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def stack(scratch: Path) -> Iterator[LiveStack]:
    """A stack of its own, so that its data can be deleted."""
    with started(scratch, scratch / "data") as (_, url):
        yield LiveStack(url, scratch / "data")


def a_large_file(path: Path) -> str:
    """3 GiB with something in each of its parts, which costs no disk; its SHA-256."""
    with path.open("wb") as file:
        file.truncate(SIZE)
        for at in range(0, SIZE, 64 * MIB):
            file.seek(at)
            file.write(os.urandom(64))
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of(url: str) -> str:
    digest = hashlib.sha256()
    with httpx.stream("GET", url, timeout=300) as answer:
        for chunk in answer.raise_for_status().iter_raw(MIB):
            digest.update(chunk)
    return digest.hexdigest()


def test_3_gib_arrive_whole_and_are_never_in_the_clients_memory(
    stack: LiveStack, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """About 60 s on a quiet machine of two cores."""
    token, path = stack.token("ada"), scratch / "large.bin"
    with Client(stack.url, token) as ada:
        ada.account.create_bucket()
        wanted = a_large_file(path)
        command = [sys.executable, "-c", UPLOADS, stack.url, token, str(path), "up/large.bin"]
        told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=800).stdout)
        with capsys.disabled():
            print(f"\n3 GiB: {told['seconds']:.0f} s, client {told['memory'] / MIB:.0f} MiB")
        assert told["size"] == SIZE
        assert told["memory"] < MOST_MEMORY
        assert sha256_of(ada.files.sign("up/large.bin").url) == wanted

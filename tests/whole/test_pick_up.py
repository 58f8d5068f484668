"""``tutti run`` killed with -9 at every stage, and typed again: nothing is sent, launched or fetched twice."""

import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from tutti_fl import Client

from tests.whole.builders import folder
from tests.whole.conftest import LiveStack
from tests.whole.relay import Cut, Passing, Relay, relayed

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(600)]

MIB = 2**20
TUTTI = Path(sys.executable).with_name("tutti")
DEAD_WITHIN_S = 240


@pytest.fixture
def relay(stack: LiveStack, ada: Client) -> Iterator[Relay]:
    ada.account.create_bucket()
    with relayed(stack.url, ada.account.bucket().endpoint_url or "") as relay:
        yield relay


class Shell:
    """Types ``tutti`` commands at the far end of a relay, from a home of its own."""

    def __init__(self, relay: Relay, token: str, home: Path) -> None:
        self.relay = relay
        self._home = home
        self._environ = os.environ | {
            "TUTTI_URL": relay.url,
            "TUTTI_TOKEN": token,
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "PYTHONUNBUFFERED": "1",
        }

    @contextmanager
    def typed(self, *argv: str) -> Iterator[subprocess.Popen[str]]:
        """The running command."""
        process = subprocess.Popen(
            [str(TUTTI), *argv], env=self._environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def ended(self, *argv: str) -> tuple[int, str]:
        """The exit code and everything the command said."""
        with self.typed(*argv) as process:
            said, _ = process.communicate(timeout=DEAD_WITHIN_S)
            return process.returncode, said

    def killed_when(self, holds: Callable[[Passing], bool], *argv: str) -> None:
        """The command, killed with -9 when a request that holds has been answered, before the answer reaches it."""
        killed: list[Passing] = []
        with self.typed(*argv) as process:

            def kill(passing: Passing) -> None:
                if killed or holds(passing):
                    killed.append(passing)
                    os.kill(process.pid, signal.SIGKILL)
                    raise Cut

            self.relay.after = kill
            process.wait(DEAD_WITHIN_S)
            self.relay.after = lambda _: None
            assert killed, f"it ended by itself: {process.communicate()[0]}"


@pytest.fixture
def shell(relay: Relay, stack: LiveStack, tmp_path: Path) -> Shell:
    return Shell(relay, stack.token("ada"), tmp_path)


def with_a_large_shard(root: Path, size: int) -> Path:
    """The small folder, with so many bytes of noise in its only shard."""
    made = folder(root, shards=1)
    with zipfile.ZipFile(made / "shards" / "shard_0.zip", "a", zipfile.ZIP_STORED) as shard:
        shard.writestr("noise.bin", os.urandom(size))
    return made


def test_an_upload_killed_in_the_middle_sends_only_the_missing_parts(shell: Shell, ada: Client, tmp_path: Path) -> None:
    root = with_a_large_shard(tmp_path / "midway", 90 * MIB)
    shell.killed_when(lambda _: len(shell.relay.parts()) >= 6, "check", str(root))
    time.sleep(1.0)  # what was on its way when the client died arrives, or does not
    shard = {one.part for one in shell.relay.passed if one.part is not None and one.path.endswith(".zip") and one.status == 200}
    before = len(shell.relay.passed)
    code, said = shell.ended("check", str(root))
    again = [one.part for one in shell.relay.passed[before:] if one.part is not None and one.path.endswith(".zip")]
    assert code == 0, said
    assert sorted([*shard, *again]) == list(range(1, 13)), "each of the 12 parts of the shard once"
    assert "94.4 MB of 94.4 MB" in said


def test_a_run_killed_at_every_stage_has_one_job_and_one_model(shell: Shell, ada: Client, tmp_path: Path) -> None:
    """Killed while it is validated, when its launch has been accepted but not answered, while it follows, while it downloads."""
    root = folder(tmp_path / "stages", shards=2)
    run = ("run", str(root), "--rounds", "3", "--set", "learning_rate=0.1", "--set", "local_epochs=3")
    shell.killed_when(lambda passing: passing.path.endswith("/check"), *run)
    shell.killed_when(lambda passing: (passing.method, passing.path) == ("POST", "/api/jobs"), *run)
    shell.killed_when(lambda passing: passing.path.endswith("/live"), *run)
    shell.killed_when(lambda passing: passing.method == "GET" and "GLOBAL_MODEL.pt" in passing.path, *run)
    code, said = shell.ended(*run)
    jobs = list(ada.jobs.list(workspace="stages"))
    assert (code, [job.state for job in jobs]) == (0, ["FINISHED"]), said
    assert set(torch.load(root / "model_out" / "GLOBAL_MODEL.pt", weights_only=True)) == {"layer.weight", "layer.bias"}
    assert re.search(rf"{jobs[0].id} was launched by an earlier run", said)

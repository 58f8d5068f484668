"""``tutti logs JOB --follow`` as a person runs it: beside a real job, from before its first line to its end."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tutti_fl import Client

from tests.whole.builders import folder, spoiled
from tests.whole.conftest import ROOT, LiveStack, job_run

pytestmark = [pytest.mark.process, pytest.mark.slow]

SAYS_WHERE = spoiled(
    "    epochs = int", "    print(f\"{env['SITE_NAME']} in round {env['CURRENT_ROUND']}\")\n    time.sleep(2)\n    epochs = int"
)
ENDS_WITHIN_S = 240
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  (?P<site>\S+) +\S+ +(?P<text>.*)")


def followed(stack: LiveStack, job: str, home: Path) -> subprocess.CompletedProcess[str]:
    """The command's end, with all it printed."""
    environ = {**os.environ, "TUTTI_URL": stack.url, "TUTTI_TOKEN": stack.token("ada"), "XDG_CONFIG_HOME": str(home)}
    environ["PYTHONPATH"] = str(ROOT / "client")
    command = [sys.executable, "-c", "from tutti_fl.cli import main; main()", "logs", job, "--follow"]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=ENDS_WITHIN_S, check=False)


def test_following_prints_the_lines_of_all_sites_and_ends_with_the_job(stack: LiveStack, ada: Client, tmp_path: Path) -> None:
    run = job_run(ada, folder(tmp_path / "job", model_def=SAYS_WHERE), "logs-followed", rounds=2)
    run.check()
    job = run.launch()
    done = followed(stack, job.id, tmp_path)
    lines = [LINE.fullmatch(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, "")
    assert ada.jobs.get(job.id).state == "FINISHED"
    said = [(line["site"], line["text"]) for line in lines if line]
    for site in ("site-1", "site-2"):
        told = [text for source, text in said if source == site and text.startswith(site)]
        assert told == [f"{site} in round 0", f"{site} in round 1"]
    assert any(site == "server" for site, _ in said)
    assert len(said) == sum(segment.lines for segment in ada.jobs.logs(job.id))

"""``tutti run`` again, after it broke off: nothing is done twice."""

from pathlib import Path
from typing import Any

import pytest

from tests.client.builders import Call, FakeTutti, Reply, Typed, ended, job, type_command
from tests.client.test_run import CANCELLED_REASON, FAILED_REASON, run, type_command_interrupted


def broken_off(tutti: FakeTutti, tmp_path: Path) -> None:
    """A run that was interrupted while it followed its job."""
    tutti.script = [{"seq": 0, "next_in_ms": 5}]
    assert type_command_interrupted(tutti, tmp_path).code == 130


def again(tutti: FakeTutti, tmp_path: Path, *flags: str) -> Typed:
    return type_command(
        "run", str(tmp_path / "digits"), *flags, home=tmp_path,
        TUTTI_URL=tutti.url, TUTTI_TOKEN="tutti_secret", XDG_STATE_HOME=str(tmp_path),
    )  # fmt: skip


def test_the_job_of_a_run_that_broke_off_is_gone_on_with(tutti: FakeTutti, tmp_path: Path) -> None:
    broken_off(tutti, tmp_path)
    tutti.script = [ended("FINISHED")]
    typed = again(tutti, tmp_path)
    assert (typed.code, len(tutti.launches), "job-01 was launched by an earlier run" in typed.out) == (0, 1, True)


def test_it_is_gone_on_with_though_its_own_workers_hold_every_machine(tutti: FakeTutti, tmp_path: Path) -> None:
    broken_off(tutti, tmp_path)
    tutti.offers[0]["free"] = 0
    tutti.script = [ended("FINISHED")]
    assert again(tutti, tmp_path).code == 0


def test_a_launch_whose_answer_was_lost_is_not_made_twice(tutti: FakeTutti, tmp_path: Path) -> None:
    def lose_the_answer(call: Call) -> Reply | None:
        if (call.method, call.path) != ("POST", "/api/jobs"):
            return None
        tutti._jobs(call, [])
        return Reply(drop=True)

    tutti.breaks = lose_the_answer
    assert run(tutti, tmp_path).code == 5
    tutti.breaks, tutti.script = lambda _: None, [ended("FINISHED")]
    assert (run(tutti, tmp_path).code, len(tutti.launches)) == (0, 1)


@pytest.mark.parametrize(("state", "reason"), [("FAILED", FAILED_REASON), ("CANCELLED", CANCELLED_REASON)])
def test_a_job_that_ended_badly_meanwhile_is_launched_anew(
    tutti: FakeTutti, tmp_path: Path, state: str, reason: dict[str, Any]
) -> None:
    broken_off(tutti, tmp_path)
    token = next(iter(tutti.launches))
    tutti.launches[token] = job(state=state, reason=reason)
    tutti.script = [ended("FINISHED")]
    assert (again(tutti, tmp_path).code, len(tutti.launches)) == (0, 2)


def test_a_folder_that_changed_gets_a_job_of_its_own(tutti: FakeTutti, tmp_path: Path) -> None:
    broken_off(tutti, tmp_path)
    (tmp_path / "digits/scripts/model_def.py").write_text("class Other: ...\n")
    tutti.script = [ended("FINISHED")]
    again(tutti, tmp_path)
    assert len(tutti.launches) == 2


def test_a_job_whose_end_was_seen_is_not_gone_on_with(tutti: FakeTutti, tmp_path: Path) -> None:
    for _ in range(2):
        tutti.script = [ended("FINISHED")]
        run(tutti, tmp_path)
    assert len(tutti.launches) == 2


def test_a_job_whose_model_was_downloaded_by_hand_is_not_gone_on_with(tutti: FakeTutti, tmp_path: Path) -> None:
    broken_off(tutti, tmp_path)
    type_command(
        "download", "job-01", "--out", str(tmp_path / "m.pt"), home=tmp_path,
        TUTTI_URL=tutti.url, TUTTI_TOKEN="tutti_secret", XDG_STATE_HOME=str(tmp_path),
    )  # fmt: skip
    tutti.script = [ended("FINISHED")]
    again(tutti, tmp_path)
    assert len(tutti.launches) == 2


def test_a_download_that_broke_off_does_not_train_again(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.script = [ended("FINISHED")]
    tutti.breaks = lambda call: Reply(503) if call.path.startswith("/store/object") else None
    assert run(tutti, tmp_path).code == 5
    tutti.breaks, tutti.script = lambda _: None, [ended("FINISHED")]
    assert (run(tutti, tmp_path).code, len(tutti.launches)) == (0, 1)


def test_ctrl_c_before_the_launch_says_that_no_job_was_launched(tutti: FakeTutti, tmp_path: Path) -> None:
    import io

    from tutti_fl import Retries
    from tutti_fl.cli import run_command
    from tutti_fl.terminal import Terminal

    from tests.client.builders import TOKEN, workspace_folder

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    tutti.breaks = lambda call: Reply(503) if call.path.endswith("/check") else None
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "TUTTI_URL": tutti.url, "TUTTI_TOKEN": TOKEN}
    err = io.StringIO()
    terminal = Terminal(io.StringIO(), io.StringIO(), err, environ, Retries(pause=interrupt))
    code = run_command(["run", str(workspace_folder(tmp_path / "digits"))], terminal)
    assert (code, err.getvalue()) == (130, "\nStopped. No job was launched; what was uploaded is kept.\n")

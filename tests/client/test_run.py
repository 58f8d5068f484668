"""``tutti run`` and ``tutti check``: what they do, say and answer to the shell."""

from pathlib import Path
from typing import Any

import pytest

from tests.client.builders import (
    TOKEN,
    Call,
    FakeTutti,
    Reply,
    Typed,
    ended,
    job,
    offer,
    refusal,
    type_command,
    workspace_folder,
)

FAILED_REASON = {
    "code": "training_raised",
    "sentence": "fl_train_model raised ZeroDivisionError.",
    "fault": "your_code",
    "advice": "Mend the line and run again.",
    "site": "site-2",
    "file": "scripts/model_def.py",
    "line": 42,
    "round": 0,
    "evidence": ["Traceback …", "ZeroDivisionError: division by zero"],
}
CANCELLED_REASON = {"code": "cancelled_by_user", "sentence": "You cancelled the job.", "fault": "nobody"}
FINDING = {"code": "no_model_def", "level": "error", "message": "model_def.py is missing.", "path": "scripts/model_def.py"}


def metrics(site: str, **values: float) -> dict[str, Any]:
    return {"kind": "metrics", "site": site, "round": 0, "source": "train", "values": values, "samples": 10}


FEED = (
    {"kind": "state", "state": "RUNNING", "sentence": "All workers have joined."},
    metrics("site-1", loss=0.25),
    metrics("site-2", loss=0.75),
    metrics("server", loss=0.5),
    {"kind": "round_ended", "round": 0, "accepted": ["site-1", "site-2"], "seconds": 1.5},
)


def run(tutti: FakeTutti, tmp_path: Path, *flags: str, command: str = "run") -> Typed:
    """Run the command on a small folder named digits."""
    folder = tmp_path / "digits"
    if not folder.exists():
        workspace_folder(folder)
    return type_command(command, str(folder), *flags, home=tmp_path, TUTTI_URL=tutti.url, TUTTI_TOKEN=TOKEN)


def finished(tutti: FakeTutti) -> None:
    tutti.script = [{"seq": 0, "next_in_ms": 5}, ended("FINISHED", feed=FEED)]


def test_a_finished_run_is_0_and_leaves_the_model_in_the_folder(tutti: FakeTutti, tmp_path: Path) -> None:
    finished(tutti)
    typed = run(tutti, tmp_path)
    assert (typed.code, (tmp_path / "digits/model_out/GLOBAL_MODEL.pt").read_bytes()) == (0, b"weights")


def test_the_inputs_are_in_the_bucket_byte_for_byte(tutti: FakeTutti, tmp_path: Path) -> None:
    finished(tutti)
    run(tutti, tmp_path)
    inputs = ("scripts/model_def.py", "shards/shard_0.zip", "shards/shard_1.zip")
    wanted = {path: (tmp_path / "digits" / path).read_bytes() for path in inputs}
    assert {path: tutti.objects[f"jobs/digits/{path}"] for path in inputs} == wanted


def test_a_round_is_told_with_its_mean_and_every_workers_number(tutti: FakeTutti, tmp_path: Path) -> None:
    finished(tutti)
    assert "round 1/1  loss 0.5000 (0.2500 0.7500)" in run(tutti, tmp_path).out


@pytest.mark.parametrize(("state", "reason", "code"), [("FAILED", FAILED_REASON, 3), ("CANCELLED", CANCELLED_REASON, 4)])
def test_a_bad_end_has_its_exit_code(tutti: FakeTutti, tmp_path: Path, state: str, reason: dict[str, Any], code: int) -> None:
    tutti.script = [ended(state, reason=reason)]
    assert run(tutti, tmp_path).code == code


def test_a_failure_is_told_with_who_where_evidence_and_advice(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.script = [ended("FAILED", reason=FAILED_REASON)]
    assert run(tutti, tmp_path).out.split("FAILED after", 1)[1] == (
        " 1 of 1 rounds: fl_train_model raised ZeroDivisionError.\n"
        "  where    your code · site-2 · scripts/model_def.py:42 · round 1\n"
        "  evidence\n"
        "    | Traceback …\n"
        "    | ZeroDivisionError: division by zero\n"
        "  next     Mend the line and run again.\n"
    )


def test_a_report_with_errors_is_1_and_nothing_is_launched(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.findings = [FINDING]
    typed = run(tutti, tmp_path)
    assert (typed.code, tutti.asked("POST", "/jobs")) == (1, [])


def test_check_prints_the_findings_and_is_1(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.findings = [FINDING]
    typed = run(tutti, tmp_path, command="check")
    assert typed.code == 1
    assert "error   scripts/model_def.py: model_def.py is missing.\ndigits: 1 error; a launch would start 2 workers" in typed.out


def test_check_of_a_clean_folder_is_0(tutti: FakeTutti, tmp_path: Path) -> None:
    assert run(tutti, tmp_path, command="check").code == 0


def test_a_launch_that_is_refused_is_1_and_says_why(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.breaks = lambda call: refusal(409, "workspace_busy", "job-00 is running") if call.path == "/api/jobs" else None
    typed = run(tutti, tmp_path)
    assert (typed.code, typed.err.splitlines()[0]) == (1, "error: job-00 is running")


@pytest.mark.parametrize("flags", [["--set", "novalue"], ["--rounds", "many"], ["--no-such-flag"]])
def test_wrong_use_is_2(tutti: FakeTutti, tmp_path: Path, flags: list[str]) -> None:
    assert run(tutti, tmp_path, *flags).code == 2


def test_a_folder_that_is_not_there_is_2(tutti: FakeTutti, tmp_path: Path) -> None:
    typed = type_command("run", str(tmp_path / "none"), home=tmp_path, TUTTI_URL=tutti.url, TUTTI_TOKEN=TOKEN)
    assert typed.code == 2


def test_nobody_at_the_address_is_5(tmp_path: Path) -> None:
    folder = workspace_folder(tmp_path / "digits")
    assert type_command("run", str(folder), home=tmp_path, TUTTI_URL="http://127.0.0.1:9", TUTTI_TOKEN="x").code == 5


def test_a_wrong_token_is_5(tutti: FakeTutti, tmp_path: Path) -> None:
    folder = workspace_folder(tmp_path / "digits")
    assert type_command("run", str(folder), home=tmp_path, TUTTI_URL=tutti.url, TUTTI_TOKEN="x").code == 5


def test_no_token_is_5(tutti: FakeTutti, tmp_path: Path) -> None:
    folder = workspace_folder(tmp_path / "digits")
    assert type_command("run", str(folder), home=tmp_path, TUTTI_URL=tutti.url).code == 5


def test_ctrl_c_while_a_job_is_followed_is_130_and_says_how_to_come_back(tutti: FakeTutti, tmp_path: Path) -> None:
    finished(tutti)
    typed = type_command_interrupted(tutti, tmp_path)
    assert (typed.code, "tutti follow job-01" in typed.err, tutti.asked("POST", "/cancel")) == (130, True, [])


def type_command_interrupted(tutti: FakeTutti, tmp_path: Path) -> Typed:
    """The command with a Ctrl-C at its first pause between two looks at the job."""
    import io

    from tutti_fl import Retries
    from tutti_fl.cli import run_command
    from tutti_fl.terminal import Terminal

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    out, err = io.StringIO(), io.StringIO()
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "TUTTI_URL": tutti.url, "TUTTI_TOKEN": TOKEN}
    terminal = Terminal(io.StringIO(), out, err, environ, Retries(pause=interrupt))
    folder = workspace_folder(tmp_path / "digits")
    return Typed(run_command(["run", str(folder)], terminal), out.getvalue(), err.getvalue())


def test_json_is_one_document_with_the_job_the_rounds_and_the_model(tutti: FakeTutti, tmp_path: Path) -> None:
    finished(tutti)
    document = run(tutti, tmp_path, "--json").json
    seconds = document.pop("seconds")
    assert (sorted(seconds), seconds["launch_to_finished"]) == (
        ["launch_to_finished", "launch_to_first_step", "launch_to_running", "upload", "validate"],
        9.0,
    )
    assert document == {
        "exit_code": 0,
        "workspace": "digits",
        "report": {
            "workspace": "digits",
            "counter": 1,
            "at": "2026-05-01T10:00:00+00:00",
            "findings": [],
            "cards": [],
            "workers": 2,
        },
        "job_id": "job-01",
        "state": "FINISHED",
        "reason": None,
        "rounds": [
            {
                "round": 0,
                "accepted": ["site-1"],
                "refused": {},
                "seconds": 1.0,
                "samples": {"site-1": 10},
                "metrics": {"site-1": {"loss": 0.5}, "server": {"loss": 0.5}},
            }
        ],
        "model_path": str(tmp_path / "digits/model_out/GLOBAL_MODEL.pt"),
    }


def test_json_of_a_refusal_is_one_document_too(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.breaks = lambda call: refusal(409, "workspace_busy") if call.path == "/api/jobs" else None
    document = run(tutti, tmp_path, "--json").json
    assert (document["exit_code"], document["error"]["code"]) == (1, "workspace_busy")


def test_settings_reach_the_wizards_form_on_top_of_its_defaults(tutti: FakeTutti, tmp_path: Path) -> None:
    run(tutti, tmp_path, "--set", "learning_rate=0.1", "--set", "depth=[1, 2]", "--rounds", "8", command="check")
    assert tutti.asked("POST", "/workspaces")[0].json == {
        "name": {"name": "digits"},
        "training": {
            "parameters": [
                {"name": "local_epochs", "value": 2},
                {"name": "learning_rate", "typed": "0.1"},
                {"name": "depth", "typed": "[1, 2]"},
            ]
        },
        "federation": {"rounds": 8},
    }


def test_the_folders_own_config_is_not_silently_beaten_by_a_flag(tutti: FakeTutti, tmp_path: Path) -> None:
    folder = workspace_folder(tmp_path / "digits")
    (folder / "configs").mkdir()
    (folder / "configs" / "config_fed_server.json").write_text("{}")
    typed = run(tutti, tmp_path, "--rounds", "3")
    assert (typed.code, "brings its own configs/config_fed_server.json" in typed.err) == (2, True)


def test_a_second_run_uploads_nothing_that_is_there_and_builds_again(tutti: FakeTutti, tmp_path: Path) -> None:
    run(tutti, tmp_path, command="check")
    tutti.calls.clear()
    run(tutti, tmp_path, command="check")
    assert (tutti.asked("POST", "/uploads"), len(tutti.asked("PUT", "/digits"))) == ([], 1)


def test_shards_of_another_run_are_not_trained_on_unasked(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.objects["jobs/digits/shards/old.zip"] = b"PK"
    typed = run(tutti, tmp_path)
    assert (typed.code, "shards/old.zip" in typed.err) == (2, True)


def test_shards_of_another_run_are_removed_with_replace(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.objects["jobs/digits/shards/old.zip"] = b"PK"
    run(tutti, tmp_path, "--replace", command="check")
    assert "jobs/digits/shards/old.zip" not in tutti.objects


def test_a_user_without_a_bucket_gets_one(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.bucket = None
    assert run(tutti, tmp_path, command="check").code == 0


def test_what_costs_money_is_not_rented_unasked(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.offers = [offer("a100", price="1.50", free=9)]
    typed = run(tutti, tmp_path)
    assert (typed.code, "a100 at 1.50 an hour" in typed.err, tutti.asked("POST", "/jobs")) == (1, True, [])


def test_what_costs_money_is_rented_when_it_is_named(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.offers = [offer("a100", price="1.50", free=9)]
    finished(tutti)
    run(tutti, tmp_path, "--gpu", "a100")
    assert tutti.asked("POST", "/jobs")[0].json["requirements"] == {"gpu_type": "a100"}


def test_a_short_outage_while_following_is_sat_out(tutti: FakeTutti, tmp_path: Path) -> None:
    finished(tutti)
    outage = [Reply(503)] * 7

    def out_for_a_while(call: Call) -> Reply | None:
        return outage.pop() if call.path.endswith("/live") and outage else None

    tutti.breaks = out_for_a_while
    assert run(tutti, tmp_path).code == 0


def test_follow_comes_back_to_a_job(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.job, tutti.script = job(), [ended("FAILED", reason=FAILED_REASON)]
    assert type_command("follow", "job-01", home=tmp_path, TUTTI_URL=tutti.url, TUTTI_TOKEN=TOKEN).code == 3


def test_cancel_says_that_the_job_is_being_stopped(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.job = job(state="RUNNING")
    typed = type_command("cancel", "job-01", home=tmp_path, TUTTI_URL=tutti.url, TUTTI_TOKEN=TOKEN)
    assert (typed.code, typed.out) == (0, "job-01 is being stopped\n")


def test_download_puts_the_model_where_it_is_told(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.job = job(state="FINISHED", model_size=7)
    to = tmp_path / "deep" / "m.pt"
    type_command("download", "job-01", "--out", str(to), home=tmp_path, TUTTI_URL=tutti.url, TUTTI_TOKEN=TOKEN)
    assert to.read_bytes() == b"weights"

"""``tutti jobs``, and which job a person means."""

from pathlib import Path

import pytest

from tests.client.builders import TOKEN, Call, FakeTutti, Reply, Typed, ended, job, type_command

FIRST = "job-01hzzzzzzzzzzzzzzzzzzzzzzz"
SECOND = "job-01hzzzzzzzzzzzzzzzzzzzzzyy"
THIRD = "job-01hzzzzzzzzzzzzzzzzzzzzzxx"


@pytest.fixture
def three(tutti: FakeTutti) -> FakeTutti:
    """Three jobs, newest first; a page of the fake holds two."""
    tutti.job = job(id=FIRST, state="RUNNING", rounds=8, rounds_done=2, loss=0.4567, created_at="2026-05-01T09:58:00Z")
    tutti.older = [
        job(id=SECOND, state="FAILED", workspace="faces", ended_at="2026-05-01T10:02:05Z"),
        job(id=THIRD, state="FINISHED", rounds_done=1, loss=0.00001, ended_at="2026-05-01T11:00:01Z"),
    ]
    return tutti


def tutti_command(tutti: FakeTutti, tmp_path: Path, *argv: str) -> Typed:
    return type_command(*argv, home=tmp_path, TUTTI_URL=tutti.url, TUTTI_TOKEN=TOKEN)


def its_clock_is(tutti: FakeTutti, date: str) -> None:
    """Every answer of the platform carries this date."""

    def dated(call: Call) -> Reply | None:
        reply = tutti._api(call)
        return Reply(reply.status, reply.json, reply.body, {"Date": date})

    tutti.breaks = dated


def test_a_row_tells_round_loss_and_how_long_it_took(three: FakeTutti, tmp_path: Path) -> None:
    its_clock_is(three, "Fri, 01 May 2026 10:00:00 GMT")
    rows = [line.split() for line in tutti_command(three, tmp_path, "jobs").out.splitlines()]
    told = [[row[0], row[1], row[2], row[3], row[-2], row[-1]] for row in rows]
    assert told == [
        ["JOB", "STATE", "ROUND", "LOSS", "TOOK", "WORKSPACE"],
        [FIRST, "RUNNING", "2/8", "0.4567", "2:00", "digits"],
        [SECOND, "FAILED", "0/1", "–", "2:05", "faces"],
        [THIRD, "FINISHED", "1/1", "1.00e-05", "1:00:01", "digits"],
    ]


@pytest.mark.parametrize("hours", [-1, 0, 1, 24])
def test_a_wrong_clock_of_this_machine_changes_no_duration(three: FakeTutti, tmp_path: Path, hours: int) -> None:
    """upl-clock-skew: this machine is apart from the platform by so many hours (the platform is moved, which is the same)."""
    from datetime import UTC, datetime, timedelta
    from email.utils import format_datetime

    there = datetime.now(UTC) + timedelta(hours=hours)
    three.job["created_at"] = (there - timedelta(seconds=61)).isoformat()
    its_clock_is(three, format_datetime(there, usegmt=True))
    took = tutti_command(three, tmp_path, "jobs", "--limit", "1").out.splitlines()[1].split()[-2]
    assert took in ("1:00", "1:01", "1:02", "1:03")


def test_the_limit_goes_over_pages_and_says_that_there_are_more(three: FakeTutti, tmp_path: Path) -> None:
    typed = tutti_command(three, tmp_path, "jobs", "--limit", "2")
    assert (len(typed.out.splitlines()), typed.err) == (3, "These are the newest 2; --all shows every one.\n")


def test_all_shows_every_page(three: FakeTutti, tmp_path: Path) -> None:
    typed = tutti_command(three, tmp_path, "jobs", "--all")
    assert (len(typed.out.splitlines()), typed.err) == (4, "")


def test_json_holds_the_jobs_as_the_api_tells_them(three: FakeTutti, tmp_path: Path) -> None:
    document = tutti_command(three, tmp_path, "jobs", "--limit", "1", "--json").json
    assert ([one["id"] for one in document["jobs"]], document["more"]) == ([FIRST], True)


def test_no_jobs_of_a_workspace_are_said_so(three: FakeTutti, tmp_path: Path) -> None:
    typed = tutti_command(three, tmp_path, "jobs", "--workspace", "none")
    assert (typed.out, typed.err) == ("", "You have no jobs in none yet; 'tutti run FOLDER' launches one.\n")


def cancelled(tutti: FakeTutti) -> list[str]:
    return [call.path.split("/")[-2] for call in tutti.asked("POST", "/cancel")]


@pytest.mark.parametrize(
    ("said", "meant"), [(SECOND, SECOND), ("faces", SECOND), ("digits", FIRST), ("xx", THIRD), ("ZYY", SECOND)]
)
def test_a_job_is_known_by_id_workspace_or_a_part_of_the_id(three: FakeTutti, tmp_path: Path, said: str, meant: str) -> None:
    tutti_command(three, tmp_path, "cancel", said)
    assert cancelled(three) == [meant]


def test_a_part_of_two_ids_is_not_guessed(three: FakeTutti, tmp_path: Path) -> None:
    typed = tutti_command(three, tmp_path, "cancel", "job-01hz")
    assert (typed.code, cancelled(three), typed.err.splitlines()[0]) == (2, [], "error: 'job-01hz' could be 3 jobs")


def test_an_unknown_job_is_said_so(three: FakeTutti, tmp_path: Path) -> None:
    typed = tutti_command(three, tmp_path, "cancel", "nothing")
    assert (typed.code, typed.err.splitlines()[0]) == (2, "error: you have no job or workspace 'nothing'")


def test_a_whole_id_that_is_not_there_is_said_so(three: FakeTutti, tmp_path: Path) -> None:
    assert "error: there is no job" in tutti_command(three, tmp_path, "cancel", "job-01hzzzzzzzzzzzzzzzzzzzz000").err


def test_follow_without_a_job_follows_the_newest(three: FakeTutti, tmp_path: Path) -> None:
    three.script = [ended("FINISHED")]
    assert f"Following {FIRST}" in tutti_command(three, tmp_path, "follow").out


def test_follow_without_any_job_says_so(tutti: FakeTutti, tmp_path: Path) -> None:
    typed = tutti_command(tutti, tmp_path, "follow")
    assert (typed.code, typed.err.splitlines()[0]) == (2, "error: you have no jobs yet")


def test_cancel_never_guesses_a_job(three: FakeTutti, tmp_path: Path) -> None:
    assert (tutti_command(three, tmp_path, "cancel").code, cancelled(three)) == (2, [])


@pytest.mark.parametrize("limit", ["0", "-1", "many"])
def test_a_limit_is_a_number_from_1(three: FakeTutti, tmp_path: Path, limit: str) -> None:
    assert tutti_command(three, tmp_path, "jobs", "--limit", limit).code == 2

"""``tutti logs``: what it prints, in which order, and when it ends."""

import json
from pathlib import Path

import pytest

from tests.client.builders import TOKEN, Call, FakeTutti, Reply, Typed, job, type_command


def at(second: int, text: str, level: str = "info") -> dict[str, str]:
    return {"t": f"2026-05-01T10:00:{second:02}.000+00:00", "level": level, "text": text}


@pytest.fixture
def logged(tutti: FakeTutti) -> FakeTutti:
    """A finished job whose processes wrote in turns; a page of the fake holds two pieces."""
    tutti.job = job(state="FINISHED", workers=2)
    tutti.log_pieces = [
        ("server", [at(1, "up"), at(6, "round 1")]),
        ("site-1", [at(2, "joined"), at(5, "loss is nan", "warning")]),
        ("site-2", [at(3, "joined too")]),
        ("server", [at(7, "done")]),
    ]
    return tutti


def logs(tutti: FakeTutti, tmp_path: Path, *flags: str) -> Typed:
    return type_command("logs", "job-01", *flags, home=tmp_path, TUTTI_URL=tutti.url, TUTTI_TOKEN=TOKEN)


def texts(typed: Typed) -> list[str]:
    return [line.split(maxsplit=4)[4] for line in typed.out.splitlines()]


def test_the_lines_of_all_processes_are_in_the_order_of_time(logged: FakeTutti, tmp_path: Path) -> None:
    assert texts(logs(logged, tmp_path)) == ["up", "joined", "joined too", "loss is nan", "round 1", "done"]


def test_a_line_has_time_site_level_and_text(logged: FakeTutti, tmp_path: Path) -> None:
    line = logs(logged, tmp_path, "--site", "site-1").out.splitlines()[1]
    assert line[20:] == " site-1    warning   loss is nan"


def test_a_pipe_gets_no_colours(logged: FakeTutti, tmp_path: Path) -> None:
    assert "\x1b" not in logs(logged, tmp_path).out


def test_some_sites_can_be_chosen(logged: FakeTutti, tmp_path: Path) -> None:
    assert texts(logs(logged, tmp_path, "--site", "site-2", "--site", "server")) == ["up", "joined too", "round 1", "done"]


def test_since_a_moment_leaves_out_what_was_before(logged: FakeTutti, tmp_path: Path) -> None:
    assert texts(logs(logged, tmp_path, "--since", "2026-05-01T10:00:05Z")) == ["loss is nan", "round 1", "done"]


@pytest.mark.parametrize(("span", "left"), [("5s", 3), ("1m", 6), ("2h", 6), ("1d", 6)])
def test_a_span_is_counted_by_the_platforms_clock(logged: FakeTutti, tmp_path: Path, span: str, left: int) -> None:
    def dated(call: Call) -> Reply | None:
        if call.path.startswith("/store"):
            return None
        reply = logged._api(call)
        return Reply(reply.status, reply.json, reply.body, {"Date": "Fri, 01 May 2026 10:00:09 GMT"})

    logged.breaks = dated
    assert len(texts(logs(logged, tmp_path, "--since", span))) == left


def test_a_time_that_is_none_is_refused_with_examples(logged: FakeTutti, tmp_path: Path) -> None:
    typed = logs(logged, tmp_path, "--since", "yesterday")
    assert (typed.code, "30s, 10m, 2h or 1d" in typed.err) == (2, True)


def test_json_is_one_object_a_line(logged: FakeTutti, tmp_path: Path) -> None:
    first = json.loads(logs(logged, tmp_path, "--json").out.splitlines()[0])
    assert first == {"t": "2026-05-01T10:00:01.000+00:00", "site": "server", "level": "info", "text": "up"}


def test_a_site_the_job_does_not_have_is_refused_with_those_it_has(logged: FakeTutti, tmp_path: Path) -> None:
    typed = logs(logged, tmp_path, "--site", "site-9")
    assert (typed.code, typed.err) == (2, "error: job-01 has no site 'site-9'\n  It has server, site-1, site-2.\n")


def test_a_job_that_wrote_nothing_yet_says_how_to_wait(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.job = job()
    typed = logs(tutti, tmp_path)
    assert (typed.code, typed.err) == (
        0,
        "job-01 wrote no log yet; the job is PENDING. 'tutti logs job-01 --follow' waits for it.\n",
    )


def test_following_prints_what_comes_and_ends_with_the_job(logged: FakeTutti, tmp_path: Path) -> None:
    coming = [logged.log_pieces.pop(), logged.log_pieces.pop()]
    logged.job["state"] = "RUNNING"

    def one_more_piece_a_look(call: Call) -> Reply | None:
        if call.path.endswith("/logs") and call.query["after"] != "0":
            if coming:
                logged.log_pieces.append(coming.pop())
            else:
                logged.job["state"] = "FINISHED"
        return None

    logged.breaks = one_more_piece_a_look
    typed = logs(logged, tmp_path, "--follow")
    assert (typed.code, texts(typed)) == (0, ["up", "joined", "loss is nan", "round 1", "joined too", "done"])


def test_an_outage_while_following_is_sat_out(logged: FakeTutti, tmp_path: Path) -> None:
    outage = [Reply(503)] * 7
    logged.breaks = lambda call: outage.pop() if call.path.endswith("/logs") and outage else None
    assert len(texts(logs(logged, tmp_path, "--follow"))) == 6


def test_ctrl_c_while_following_is_130_and_says_nothing_of_a_launch(logged: FakeTutti, tmp_path: Path) -> None:
    import io

    from tutti_fl import Retries
    from tutti_fl.cli import run_command
    from tutti_fl.terminal import Terminal

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    logged.job["state"] = "RUNNING"
    err = io.StringIO()
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "TUTTI_URL": logged.url, "TUTTI_TOKEN": TOKEN}
    code = run_command(["logs", "job-01", "-f"], Terminal(io.StringIO(), io.StringIO(), err, environ, Retries(pause=interrupt)))
    assert (code, err.getvalue().strip()) == (130, "")


def test_an_expired_url_of_a_piece_is_signed_anew(logged: FakeTutti, tmp_path: Path) -> None:
    expired: list[Call] = []

    def expire_once(call: Call) -> Reply | None:
        if call.path.startswith("/store/") and not expired:
            expired.append(call)
            logged.expire_signatures()
        return None

    logged.breaks = expire_once
    assert len(texts(logs(logged, tmp_path))) == 6


def test_a_deleted_piece_is_said_so_and_the_rest_is_shown(logged: FakeTutti, tmp_path: Path) -> None:
    logged.breaks = lambda call: Reply(404) if call.path == "/store/log/1" else None
    out = logs(logged, tmp_path).out
    assert ("(a piece of this log was deleted from the bucket)" in out, len(out.splitlines())) == (True, 5)


def test_a_line_that_is_no_json_is_shown_as_it_is(logged: FakeTutti, tmp_path: Path) -> None:
    logged.breaks = lambda call: Reply(body=b"not json\n") if call.path == "/store/log/2" else None
    assert "not json" in logs(logged, tmp_path).out


def test_a_line_separator_inside_a_text_does_not_break_it(logged: FakeTutti, tmp_path: Path) -> None:
    line = json.dumps(at(3, "one\u2028line"), ensure_ascii=False).encode()
    logged.breaks = lambda call: Reply(body=line) if call.path == "/store/log/2" else None
    said = [json.loads(shown)["text"] for shown in logs(logged, tmp_path, "--json").out.split("\n") if shown]
    assert "one\u2028line" in said

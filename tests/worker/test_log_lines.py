"""Raw output turned into log lines."""

import json

from tutti_worker.log_lines import Lines, LogLine

from chalicelib.contracts.masking import mask


def texts(*chunks: bytes) -> list[str]:
    lines = Lines()
    return [line.text for chunk in chunks for line in lines.feed(chunk)] + [line.text for line in lines.finish()]


def test_lines_are_whole_however_the_bytes_come() -> None:
    assert texts(b"one\ntw", b"o\nthr", b"ee") == ["one", "two", "three"]


def test_a_progress_bar_leaves_its_last_state() -> None:
    assert texts(b"  1%\r", b" 50%\r", b"100%\n", b"next\n") == ["100%", "next"]


def test_windows_line_ends_colours_and_control_characters_are_taken_out() -> None:
    assert texts(b"\x1b[31mred\x1b[0m\r\n\x07bell\n") == ["red", "bell"]


def test_bytes_that_are_no_text_break_nothing() -> None:
    assert texts(b"\xff\xfe caf\xc3\xa9\n") == ["\ufffd\ufffd café"]


def test_a_line_without_end_does_not_grow_for_ever() -> None:
    lines = Lines()
    given = [line for _ in range(100) for line in lines.feed(b"x" * 10_000)]
    assert sum(len(line.text) for line in given) >= 600_000
    assert max(len(line.text) for line in given) <= 16_000


def test_a_progress_bar_without_line_feed_costs_no_memory() -> None:
    lines = Lines()
    given = [line for _ in range(1000) for line in lines.feed(b"x" * 100 + b"\r")]
    assert given == []


def test_nvflares_level_is_kept_and_a_traceback_is_an_error() -> None:
    lines = Lines()
    raw = (
        b"2026-01-02 03:04:05,678 - nvflare.x.Y - WARNING - careful\n"
        b"Traceback (most recent call last):\n"
        b'  File "scripts/model_def.py", line 3, in f\n'
        b"ValueError: no\n"
        b"hello\n"
    )
    assert [line.level for line in lines.feed(raw)] == ["warning", "error", "error", "error", "info"]


def test_signatures_tokens_and_credentials_are_masked() -> None:
    text = (
        "GET http://h/b?X-Amz-Credential=AKIA%2F1&X-Amz-Signature=abcdef0123&partNumber=1 "
        "Authorization: Bearer abcdefghijkl eyJhbGciOiJSUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJlLWJ5 "
        "token_signature: Zm9vYmFyYmF6cXV4"
    )
    masked = mask(text)
    assert not any(secret in masked for secret in ("AKIA", "abcdef0123", "abcdefghijkl", "eyJ", "Zm9v"))
    assert "partNumber=1" in masked


def test_known_secrets_are_masked_wherever_they_stand() -> None:
    lines = Lines(["super-secret-value"])
    assert [line.text for line in lines.feed(b"it is super-secret-value!\n")] == ["it is ***!"]


def test_ordinary_words_stay_readable() -> None:
    assert mask("tokens: 512, token count=77, the signal was clear") == "tokens: 512, token count=77, the signal was clear"


def test_a_private_key_is_masked_line_by_line_and_what_follows_is_not() -> None:
    key = (
        b"-----BEGIN PRIVATE KEY-----\n" + (b"QUJDREVGR0hJSktM" * 4 + b"\n") * 3 + b"-----END PRIVATE KEY-----\ntraining starts\n"
    )
    said = texts(key)
    assert said == ["-----BEGIN PRIVATE KEY-----", "***", "***", "***", "-----END PRIVATE KEY-----", "training starts"]


def test_a_line_is_one_json_object_with_time_level_and_text() -> None:
    packed = LogLine("2026-01-02T03:04:05.000+00:00", "info", "é\u2028").as_json()
    assert packed.count(b"\n") == 1
    assert json.loads(packed) == {"t": "2026-01-02T03:04:05.000+00:00", "level": "info", "text": "é\u2028"}

"""Retries and errors."""

import pytest
from tutti_fl import Client, NotSignedIn, TuttiError, Unreachable

from tests.client.builders import QUICK, Call, FakeTutti, Reply, client_of, refusal


class Breaking:
    """Answers the first calls of a path with these replies."""

    def __init__(self, end: str, replies: list[Reply]) -> None:
        self._end, self._replies = end, list(replies)

    def __call__(self, call: Call) -> Reply | None:
        return self._replies.pop(0) if call.path.endswith(self._end) and self._replies else None


@pytest.mark.parametrize("reply", [Reply(502), Reply(503), Reply(504), Reply(drop=True)])
def test_a_read_is_tried_again(tutti: FakeTutti, reply: Reply) -> None:
    tutti.breaks = Breaking("/me", [reply] * 4)
    with client_of(tutti) as client:
        assert client.account.me().name == "Ada"


def test_a_read_is_given_up_after_five_tries(tutti: FakeTutti) -> None:
    tutti.breaks = Breaking("/me", [Reply(drop=True)] * 5)
    with client_of(tutti) as client, pytest.raises(Unreachable):
        client.account.me()
    assert len(tutti.calls) == 5


def test_making_a_key_is_not_repeated_when_the_answer_is_lost(tutti: FakeTutti) -> None:
    tutti.breaks = Breaking("/me/keys", [Reply(drop=True)])
    with client_of(tutti) as client, pytest.raises(Unreachable):
        client.account.make_key("x")
    assert len(tutti.calls) == 1


def test_a_launch_is_repeated_with_the_same_client_token(tutti: FakeTutti) -> None:
    tutti.breaks = Breaking("/jobs", [Reply(drop=True), Reply(503)])
    with client_of(tutti) as client:
        client.launch("digits")
    assert len({call.json["client_token"] for call in tutti.asked("POST", "/jobs")}) == 1


def test_a_refusal_keeps_its_code_message_hint_fields_and_request_id(tutti: FakeTutti) -> None:
    tutti.breaks = Breaking("/jobs", [refusal(409, "report_has_errors", "two errors", shards="no zip")])
    with client_of(tutti) as client, pytest.raises(TuttiError) as refused:
        client.launch("digits")
    error = refused.value
    said = (error.code, error.message, error.hint, error.fields, error.request_id, error.status)
    assert said == ("report_has_errors", "two errors", "do better", {"shards": "no zip"}, "req-1", 409)


def test_a_token_the_gateway_refuses_in_its_own_words_is_not_signed_in(tutti: FakeTutti) -> None:
    with Client(tutti.url, "wrong", retries=QUICK) as client, pytest.raises(NotSignedIn):
        client.account.me()


def test_nobody_at_the_address_is_unreachable() -> None:
    with Client("http://127.0.0.1:9", "x", retries=QUICK) as client, pytest.raises(Unreachable, match=r"127\.0\.0\.1:9"):
        client.account.me()


def test_the_address_may_end_in_api(tutti: FakeTutti) -> None:
    with Client(f"{tutti.url}/api/", "", retries=QUICK) as client:
        assert client.account.sign_in().cli_client_id == "cli"


def test_a_page_that_is_no_api_is_said_so(tutti: FakeTutti) -> None:
    tutti.breaks = Breaking("/me", [Reply(body=b"<html>hello</html>")])
    with client_of(tutti) as client, pytest.raises(TuttiError, match="does not speak Tutti's API"):
        client.account.me()

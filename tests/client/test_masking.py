"""What the command line says when something goes wrong holds no secret."""

import io
import json

from tutti_fl.terminal import Terminal

KEY = "tutti_" + "aB3" * 15


def terminal() -> tuple[Terminal, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Terminal(io.StringIO(), out, err, {}), out, err


def test_an_error_that_quotes_the_key_is_said_without_it() -> None:
    made, _, err = terminal()
    made.warn(f"error: 401 for Authorization: Bearer {KEY}")
    assert err.getvalue() == "error: 401 for Authorization: Bearer ***\n"


def test_the_document_is_json_without_the_signature() -> None:
    made, out, _ = terminal()
    made.document({"error": {"message": "403 for http://h/b?X-Amz-Signature=abcdef0123&x=1"}, "exit_code": 1})
    assert json.loads(out.getvalue())["error"]["message"] == "403 for http://h/b?X-Amz-Signature=***&x=1"


def test_a_key_that_was_asked_for_is_shown() -> None:
    made, out, _ = terminal()
    made.say(KEY)
    assert out.getvalue() == f"{KEY}\n"

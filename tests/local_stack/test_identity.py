"""The local issuer: the way in, and every way that is none."""

import json
import stat
import time
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.adapters.oidc import OidcVerifier
from chalicelib.domain.errors import NotSignedIn
from local_stack.identity import LocalIssuer, issue_code
from tests.local_stack.wsgi_caller import ORIGIN, Reply, call

VERIFIER = "v" * 43
CHALLENGE = urlsafe_b64encode(sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
CONSOLE_BACK = f"{ORIGIN}/signed-in"
CLI_BACK = "http://127.0.0.1:53177/callback"


class Now:
    """Time that moves only when told."""

    def __init__(self) -> None:
        self.at = time.time()

    def __call__(self) -> float:
        return self.at


@dataclass
class Desk:
    """An issuer and somebody in front of it."""

    issuer: LocalIssuer
    now: Now
    cookie: str = ""

    def ask(self, **changed: str) -> Reply:
        return call(self.issuer, "GET", "/authorize", query=wish(**changed), headers=self._sent())

    def submit(self, form: dict[str, str], *, origin: str = ORIGIN, **changed: str) -> Reply:
        headers = self._sent() | ({"Origin": origin} if origin else {})
        reply = call(self.issuer, "POST", "/authorize", query=wish(**changed), form=form, headers=headers)
        self.cookie = reply.header("Set-Cookie").partition(";")[0] or self.cookie
        return reply

    def sign_in(self, name: str = "ada", **changed: str) -> Reply:
        return self.submit({"code": self.issuer.issue_code(name)}, **changed)

    def exchange(self, granted: str, **changed: str) -> Reply:
        form = {
            "grant_type": "authorization_code",
            "code": granted,
            "client_id": "console",
            "redirect_uri": CONSOLE_BACK,
            "code_verifier": VERIFIER,
        }
        return call(self.issuer, "POST", "/token", form=form | changed)

    def token(self, name: str = "ada") -> str:
        return str(json.loads(self.exchange(answer(self.sign_in(name))["code"]).body)["access_token"])

    def _sent(self) -> dict[str, str]:
        return {"Cookie": self.cookie} if self.cookie else {}


def wish(**changed: str) -> dict[str, str]:
    asked = {
        "response_type": "code",
        "client_id": "console",
        "redirect_uri": CONSOLE_BACK,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "state": "s-1",
        "scope": "openid",
    }
    return asked | changed


def answer(reply: Reply) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(reply.header("Location")).query).items()}


@pytest.fixture(scope="session")
def key_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("key")
    LocalIssuer(folder, f"{ORIGIN}/auth", origin=ORIGIN)
    return folder


@pytest.fixture
def desk(tmp_path: Path, key_folder: Path) -> Desk:
    (tmp_path / "signing-key.json").write_bytes((key_folder / "signing-key.json").read_bytes())
    now = Now()
    return Desk(LocalIssuer(tmp_path, f"{ORIGIN}/auth", origin=ORIGIN, now=now), now)


def verify(desk: Desk, token: str) -> str:
    return OidcVerifier(f"{ORIGIN}/auth", ["console", "cli"], desk.issuer.jwks)(token).name


# The way in


def test_somebody_unknown_is_asked_for_the_code(desk: Desk) -> None:
    reply = desk.ask()
    assert (reply.status, 'name="code"' in reply.text) == (200, True)


def test_a_code_leads_back_to_the_console_with_its_state(desk: Desk) -> None:
    reply = desk.sign_in()
    told = answer(reply)
    assert (reply.status, reply.header("Location").partition("?")[0], told["state"]) == (303, CONSOLE_BACK, "s-1")


def test_the_token_is_accepted_by_the_verifier_of_the_api(tmp_path: Path) -> None:
    desk = Desk(LocalIssuer(tmp_path, f"{ORIGIN}/auth", origin=ORIGIN), Now())
    assert verify(desk, desk.token("ada")) == "ada"


def test_the_id_token_is_refused_by_the_verifier_of_the_api(tmp_path: Path) -> None:
    desk = Desk(LocalIssuer(tmp_path, f"{ORIGIN}/auth", origin=ORIGIN), Now())
    tokens = json.loads(desk.exchange(answer(desk.sign_in())["code"]).body)
    with pytest.raises(NotSignedIn):
        verify(desk, tokens["id_token"])


def test_a_code_may_be_typed_in_lower_case_without_dashes(desk: Desk) -> None:
    code = desk.issuer.issue_code("ada").replace("-", "").lower().replace("0", "o").replace("1", "l")
    assert "code" in answer(desk.submit({"code": f" {code} "}))


def test_a_code_can_be_issued_by_another_process(desk: Desk, tmp_path: Path) -> None:
    assert "code" in answer(desk.submit({"code": issue_code(tmp_path, "ada")}))


def test_a_user_keeps_the_subject_over_restarts(desk: Desk, tmp_path: Path) -> None:
    again = LocalIssuer(tmp_path, f"{ORIGIN}/auth", origin=ORIGIN)
    verify = OidcVerifier(f"{ORIGIN}/auth", ["cli"], again.jwks)
    first = LocalIssuer(tmp_path, f"{ORIGIN}/auth", origin=ORIGIN).access_token("ada")
    assert verify(first).user == verify(again.access_token("ada")).user


def test_two_users_have_two_subjects(desk: Desk, tmp_path: Path) -> None:
    issuer = LocalIssuer(tmp_path, f"{ORIGIN}/auth", origin=ORIGIN)
    verify = OidcVerifier(f"{ORIGIN}/auth", ["cli"], issuer.jwks)
    assert verify(issuer.access_token("ada")).user != verify(issuer.access_token("bob")).user


def test_the_configuration_names_the_issuer(desk: Desk) -> None:
    reply = call(desk.issuer, "GET", "/.well-known/openid-configuration")
    assert json.loads(reply.body)["issuer"] == f"{ORIGIN}/auth"


def test_the_key_set_has_no_private_part(desk: Desk) -> None:
    (key,) = json.loads(call(desk.issuer, "GET", "/jwks.json").body)["keys"]
    assert set(key) == {"kty", "n", "e", "use", "alg", "kid"}


@pytest.mark.parametrize("name", ["signing-key.json", "identity.sqlite"])
def test_its_files_are_for_their_owner_only(key_folder: Path, name: str) -> None:
    assert stat.S_IMODE((key_folder / name).stat().st_mode) == 0o600


def test_no_secret_lies_in_the_records_in_clear(desk: Desk, tmp_path: Path) -> None:
    code = desk.issuer.issue_code("ada")
    desk.sign_in()
    kept = (tmp_path / "identity.sqlite").read_bytes()
    secrets = [code.replace("-", ""), desk.cookie.partition("=")[2]]
    assert [secret for secret in secrets if secret.encode() in kept] == []


# Codes


def test_a_code_works_once(desk: Desk) -> None:
    code = desk.issuer.issue_code("ada")
    desk.submit({"code": code})
    desk.cookie = ""
    assert desk.submit({"code": code}).status == 403


def test_a_code_is_over_after_fifteen_minutes(desk: Desk) -> None:
    code = desk.issuer.issue_code("ada")
    desk.now.at += 15 * 60 + 1
    assert desk.submit({"code": code}).status == 403


def test_a_wrong_code_opens_nothing(desk: Desk) -> None:
    reply = desk.submit({"code": "0000-0000-0000-0000"})
    assert (reply.status, reply.header("Set-Cookie"), reply.header("Location")) == (403, "", "")


def test_five_wrong_codes_stop_even_a_right_one(desk: Desk) -> None:
    for _ in range(5):
        desk.submit({"code": "0000-0000-0000-0000"})
    assert desk.sign_in().status == 429


def test_a_minute_later_the_right_code_works_again(desk: Desk) -> None:
    for _ in range(5):
        desk.submit({"code": "0000-0000-0000-0000"})
    desk.now.at += 61
    assert desk.sign_in().status == 303


def test_a_form_of_another_page_is_refused(desk: Desk) -> None:
    assert desk.submit({"code": desk.issuer.issue_code("ada")}, origin="http://evil.example").status == 400


def test_a_form_that_does_not_say_where_it_comes_from_is_refused(desk: Desk) -> None:
    assert desk.submit({"code": desk.issuer.issue_code("ada")}, origin="").status == 400


@pytest.mark.parametrize("name", ["", "a b", "../x", "<b>", "-x", "x" * 64])
def test_a_name_outside_the_rule_gets_no_code(desk: Desk, name: str) -> None:
    with pytest.raises(ValueError, match="user name"):
        desk.issuer.issue_code(name)


# Where an answer may go


@pytest.mark.parametrize(
    "redirect",
    [
        "http://evil.example/signed-in",
        f"{ORIGIN}.evil.example/x",
        f"{ORIGIN}@evil.example/x",
        "http://127.0.0.1:8001/x",
        "http://localhost:8000/x",
        "https://127.0.0.1:8000/x",
        "//evil.example/x",
        "/signed-in",
        "javascript:alert(1)",
        f"{ORIGIN}",
        f"{ORIGIN}/x#fragment",
        f"{ORIGIN}/x\\@evil.example",
        "",
    ],
)
def test_the_console_is_answered_only_at_its_own_origin(desk: Desk, redirect: str) -> None:
    reply = desk.ask(redirect_uri=redirect)
    assert (reply.status, reply.header("Location")) == (400, "")


@pytest.mark.parametrize(
    "redirect",
    [
        "http://evil.example:80/callback",
        "http://127.0.0.1.evil.example:80/callback",
        "http://127.0.0.1:80@evil.example/callback",
        "http://localhost:53177/callback",
        "https://127.0.0.1:53177/callback",
        "http://127.0.0.1/callback",
        "http://127.0.0.1:999999/callback",
        "http://0.0.0.0:53177/callback",
        "tutti://callback",
    ],
)
def test_the_command_line_is_answered_only_at_a_port_of_loopback(desk: Desk, redirect: str) -> None:
    reply = desk.ask(client_id="cli", redirect_uri=redirect)
    assert (reply.status, reply.header("Location")) == (400, "")


def test_the_command_line_may_use_any_port_of_loopback(desk: Desk) -> None:
    reply = desk.sign_in(client_id="cli", redirect_uri=CLI_BACK)
    assert reply.header("Location").startswith(f"{CLI_BACK}?code=")


def test_an_unknown_client_is_sent_nowhere(desk: Desk) -> None:
    reply = desk.ask(client_id="other")
    assert (reply.status, reply.header("Location")) == (400, "")


def test_what_a_request_brings_is_shown_as_text(desk: Desk) -> None:
    assert "<script" not in desk.ask(client_id="<script>alert(1)</script>").text


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": ""}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
    ],
)
def test_a_flow_without_pkce_is_refused_at_the_redirect(desk: Desk, changed: dict[str, str], error: str) -> None:
    assert answer(desk.ask(**changed))["error"] == error


# The session


def test_a_session_signs_the_console_in_silently(desk: Desk) -> None:
    desk.sign_in()
    assert "code" in answer(desk.ask(prompt="none"))


def test_without_a_session_a_silent_request_says_that_login_is_required(desk: Desk) -> None:
    told = answer(desk.ask(prompt="none"))
    assert told == {"error": "login_required", "state": "s-1"}


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(desk: Desk) -> None:
    cookie = desk.sign_in().header("Set-Cookie")
    assert [part for part in ("HttpOnly", "SameSite=Lax", "Path=/auth") if part not in cookie] == []


@pytest.mark.parametrize("cookie", ["tutti_session_8000=made-up", "tutti_session_8000=", 'x="', "\x00=;;"])
def test_a_made_up_cookie_opens_nothing(desk: Desk, cookie: str) -> None:
    desk.cookie = cookie
    assert answer(desk.ask(prompt="none"))["error"] == "login_required"


def test_a_session_is_over_after_a_month(desk: Desk) -> None:
    desk.sign_in()
    desk.now.at += 30 * 24 * 3600 + 1
    assert answer(desk.ask(prompt="none"))["error"] == "login_required"


def test_signing_out_ends_the_session_itself(desk: Desk) -> None:
    desk.sign_in()
    call(desk.issuer, "POST", "/logout", headers={"Cookie": desk.cookie, "Origin": ORIGIN})
    assert answer(desk.ask(prompt="none"))["error"] == "login_required"


def test_another_page_cannot_sign_anybody_out(desk: Desk) -> None:
    desk.sign_in()
    call(desk.issuer, "POST", "/logout", headers={"Cookie": desk.cookie, "Origin": "http://evil.example"})
    assert "code" in answer(desk.ask(prompt="none"))


def test_a_session_alone_does_not_let_a_local_program_in(desk: Desk) -> None:
    desk.sign_in()
    reply = desk.ask(client_id="cli", redirect_uri=CLI_BACK)
    assert (reply.status, "asks to act for you" in reply.text) == (200, True)


def test_a_session_and_a_click_let_the_command_line_in(desk: Desk) -> None:
    desk.sign_in()
    reply = desk.submit({"consent": "yes"}, client_id="cli", redirect_uri=CLI_BACK)
    assert "code" in answer(reply)


def test_consent_without_a_session_opens_nothing(desk: Desk) -> None:
    assert desk.submit({"consent": "yes"}).status == 403


# The exchange


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_verifier": "w" * 43}, "invalid_grant"),
        ({"code_verifier": ""}, "invalid_grant"),
        ({"client_id": "cli"}, "invalid_grant"),
        ({"redirect_uri": f"{ORIGIN}/other"}, "invalid_grant"),
        ({"code": "made-up"}, "invalid_grant"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
    ],
    ids=str,
)
def test_an_exchange_that_does_not_fit_is_refused(desk: Desk, changed: dict[str, str], error: str) -> None:
    reply = desk.exchange(answer(desk.sign_in())["code"], **changed)
    assert (reply.status, json.loads(reply.body)["error"]) == (400, error)


def test_an_authorization_code_works_once(desk: Desk) -> None:
    code = answer(desk.sign_in())["code"]
    desk.exchange(code)
    assert desk.exchange(code).status == 400


def test_a_failed_exchange_uses_the_code_up(desk: Desk) -> None:
    code = answer(desk.sign_in())["code"]
    desk.exchange(code, code_verifier="w" * 43)
    assert desk.exchange(code).status == 400


def test_an_authorization_code_is_over_after_a_minute(desk: Desk) -> None:
    code = answer(desk.sign_in())["code"]
    desk.now.at += 61
    assert desk.exchange(code).status == 400


def test_a_form_too_large_is_not_read(desk: Desk) -> None:
    assert desk.exchange("x" * 20_000).status == 400


# The page


def test_the_page_allows_no_script_and_no_inline_style(desk: Desk) -> None:
    policy = desk.ask().header("Content-Security-Policy")
    assert "default-src 'none'; style-src 'self'; font-src 'self'; base-uri 'none'; frame-ancestors 'none'" in policy


def test_the_page_has_nothing_inline(desk: Desk) -> None:
    assert [word for word in ("<script", "<style", "style=", "onload", "onclick") if word in desk.ask().text] == []


def test_the_style_sheet_knows_light_and_dark(desk: Desk) -> None:
    reply = call(desk.issuer, "GET", "/style.css")
    assert (reply.header("Content-Type"), "color-scheme: light dark" in reply.text) == ("text/css; charset=utf-8", True)


def test_the_pages_fonts_are_the_consoles_and_no_other_file(desk: Desk) -> None:
    replies = [call(desk.issuer, "GET", path) for path in ("/martian-mono.woff2", "/OFL-martian-mono.txt")]
    assert [(reply.status, reply.header("Content-Type")) for reply in replies] == [(200, "font/woff2"), (404, "application/json")]


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/nothing", 404), ("DELETE", "/token", 405), ("GET", "/token", 405)]
)
def test_other_paths_and_methods_are_refused(desk: Desk, method: str, path: str, status: int) -> None:
    assert call(desk.issuer, method, path).status == status

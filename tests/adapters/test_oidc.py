"""Access tokens: the one that is right, and every way to be wrong."""

import hmac
import json
import time
from base64 import urlsafe_b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from joserfc import jwk, jwt

from chalicelib.adapters.oidc import OidcVerifier, fetch_from
from chalicelib.contracts.account import Principal
from chalicelib.domain.errors import NotSignedIn, StoreUnavailable

ISSUER = "https://issuer.example/pool"


def rsa_key() -> jwk.RSAKey:
    return jwk.RSAKey.generate_key(2048, parameters={"use": "sig", "alg": "RS256"}, auto_kid=True)


@pytest.fixture(scope="module")
def key() -> jwk.RSAKey:
    return rsa_key()


def base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def token(key: jwk.RSAKey, header: dict[str, Any] | None = None, **changed: Any) -> str:
    claims = {
        "iss": ISSUER,
        "sub": "u-1",
        "username": "ada",
        "client_id": "console",
        "token_use": "access",
        "cognito:groups": ["admins"],
        "iat": int(time.time()),
        "exp": int(time.time()) + 3600,
    } | changed
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(header or {"alg": "RS256", "kid": key.kid}, claims, key)


class Keys:
    """A key set that counts how often it is fetched."""

    def __init__(self, *keys: jwk.RSAKey) -> None:
        self.keys = list(keys)
        self.fetched = 0

    def __call__(self) -> dict[str, Any]:
        self.fetched += 1
        return {"keys": [key.as_dict(private=False) for key in self.keys]}


class Stopwatch:
    """Monotonic time that moves only when told."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


def verifier(keys: Keys, clock: Stopwatch | None = None) -> OidcVerifier:
    return OidcVerifier(ISSUER, ["console", "cli"], keys, monotonic=clock or Stopwatch())


def test_a_token_tells_who_it_speaks_for(key: jwk.RSAKey) -> None:
    assert verifier(Keys(key))(token(key)) == Principal(user="u-1", name="ada", groups=("admins",))


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": 1_000_000_000},
        {"exp": None},
        {"iss": "https://other.example"},
        {"iss": None},
        {"token_use": "id"},
        {"token_use": None},
        {"client_id": "someone-elses"},
        {"client_id": None},
        {"sub": None},
    ],
    ids=str,
)
def test_a_token_with_wrong_claims_is_refused(key: jwk.RSAKey, changed: dict[str, Any]) -> None:
    with pytest.raises(NotSignedIn):
        verifier(Keys(key))(token(key, **changed))


def test_a_token_signed_by_another_key_of_the_same_id_is_refused(key: jwk.RSAKey) -> None:
    with pytest.raises(NotSignedIn):
        verifier(Keys(key))(token(rsa_key(), header={"alg": "RS256", "kid": key.kid}))


def test_a_token_without_signature_is_refused(key: jwk.RSAKey) -> None:
    head = base64url(json.dumps({"alg": "none", "kid": key.kid}).encode())
    with pytest.raises(NotSignedIn):
        verifier(Keys(key))(f"{head}.{token(key).split('.')[1]}.")


def test_a_token_signed_with_the_public_key_as_a_secret_is_refused(key: jwk.RSAKey) -> None:
    body = f"{base64url(json.dumps({'alg': 'HS256', 'kid': key.kid}).encode())}.{token(key).split('.')[1]}"
    signature = hmac.digest(key.as_pem(private=False), body.encode(), "sha256")
    with pytest.raises(NotSignedIn):
        verifier(Keys(key))(f"{body}.{base64url(signature)}")


@pytest.mark.parametrize("text", ["", "x", "a.b.c", "ü.ü.ü", "." * 5])
def test_what_is_no_token_is_refused(key: jwk.RSAKey, text: str) -> None:
    with pytest.raises(NotSignedIn):
        verifier(Keys(key))(text)


def test_keys_are_fetched_once_for_many_tokens(key: jwk.RSAKey) -> None:
    keys = Keys(key)
    verify = verifier(keys)
    for _ in range(3):
        verify(token(key))
    assert keys.fetched == 1


def test_a_new_key_of_the_issuer_is_found_a_minute_later(key: jwk.RSAKey) -> None:
    keys, clock, newer = Keys(key), Stopwatch(), rsa_key()
    verify = verifier(keys, clock)
    verify(token(key))
    keys.keys.append(newer)
    clock.at += 61
    assert verify(token(newer)).user == "u-1"


def test_unknown_key_ids_do_not_make_it_fetch_more_than_once_a_minute(key: jwk.RSAKey) -> None:
    keys, stranger = Keys(key), rsa_key()
    verify = verifier(keys)
    verify(token(key))
    for _ in range(5):
        with pytest.raises(NotSignedIn):
            verify(token(stranger))
    assert keys.fetched == 1


class _KeysPage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"keys": []}' if self.path == "/jwks.json" else b"<html>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.mark.parametrize(("path", "readable"), [("/jwks.json", True), ("/else", False)])
def test_the_keys_are_read_over_http(path: str, readable: bool) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _KeysPage) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        fetch = fetch_from(f"http://127.0.0.1:{server.server_port}{path}")
        try:
            found = fetch()
        except StoreUnavailable:
            found = None
        server.shutdown()
    assert (found == {"keys": []}) is readable

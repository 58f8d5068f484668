"""Signing in with OAuth's authorization code and PKCE: through a browser, or with the one-time code alone."""

import base64
import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

from tutti_fl.connections import open_http
from tutti_fl.credentials import Credentials
from tutti_fl.errors import NotSignedIn, Unreachable
from tutti_fl.loopback import Callback
from tutti_fl.shapes.account import SignIn

UNUSED_REDIRECT = "http://127.0.0.1:8976/callback"
"""Where the issuer sends a sign-in without a browser; nothing listens there, the answer is read from the redirect itself."""


@dataclass(frozen=True)
class Request:
    """One attempt to sign in; its secrets tie the answer to it."""

    place: SignIn
    redirect_uri: str
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    state: str = field(default_factory=lambda: secrets.token_urlsafe(16))

    @property
    def url(self) -> str:
        """The issuer's page for it."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self.place.cli_client_id,
            "redirect_uri": self.redirect_uri,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            "state": self.state,
            "scope": self.place.scope,
        }
        return f"{self.place.authorize_url}?{urlencode(query)}"


def sign_in_with_browser(url: str, place: SignIn, open_page: Callable[[str], object], *, wait_s: float = 300) -> Credentials:
    """Have the user sign in on the issuer's page, which ``open_page`` shows. NotSignedIn when nothing comes back in time."""
    with Callback() as callback:
        request = Request(place, callback.uri)
        open_page(request.url)
        answer = callback.wait(wait_s)
    if answer is None:
        raise NotSignedIn(f"no sign-in came back within {wait_s:.0f} s")
    return _exchange(url, request, answer)


def sign_in_with_code(url: str, place: SignIn, one_time_code: str) -> Credentials:
    """The same without a browser: the code is put into the page's one field, and the redirect is read, not followed."""
    request = Request(place, UNUSED_REDIRECT)
    origin = urlsplit(request.url)
    headers = {"Origin": f"{origin.scheme}://{origin.netloc}"}
    with _http() as http:
        _reached(http, "GET", request.url)
        answer = _reached(http, "POST", request.url, data={"code": one_time_code.strip()}, headers=headers)
    target = answer.headers.get("location", "")
    if not answer.is_redirect or not target.startswith(request.redirect_uri):
        raise NotSignedIn("the issuer did not accept the code", "Use the newest code that Tutti printed when it started.")
    return _exchange(url, request, parse_qs(urlsplit(target).query))


def _exchange(url: str, request: Request, answer: dict[str, list[str]]) -> Credentials:
    """The authorization code for a token."""
    if answer.get("state") != [request.state]:
        raise NotSignedIn("the answer does not belong to this sign-in")
    if "code" not in answer:
        said = " ".join(answer.get("error_description") or answer.get("error") or ["no reason given"])
        raise NotSignedIn(f"the issuer refused: {said}")
    form = {
        "grant_type": "authorization_code",
        "code": answer["code"][0],
        "redirect_uri": request.redirect_uri,
        "client_id": request.place.cli_client_id,
        "code_verifier": request.verifier,
    }
    with _http() as http:
        response = _reached(http, "POST", request.place.token_url, data=form)
    if not response.is_success:
        raise NotSignedIn(f"the issuer gave no token (status {response.status_code})")
    token = response.json()
    lasts = token.get("expires_in")
    expires_at = (datetime.now(UTC) + timedelta(seconds=float(lasts))).isoformat() if lasts else None
    return Credentials(url, str(token["access_token"]), expires_at)


def _http() -> httpx.Client:
    return open_http(timeout_s=30.0)


def _reached(
    http: httpx.Client, method: str, url: str, *, data: dict[str, str] | None = None, headers: dict[str, str] | None = None
) -> httpx.Response:
    try:
        return http.request(method, url, data=data, headers=headers)
    except httpx.TransportError as error:
        raise Unreachable(url.split("?", maxsplit=1)[0], str(error) or type(error).__name__) from error

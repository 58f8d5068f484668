"""The local token issuer at /auth: the laptop's stand-in for Cognito, with a one-field page and a session cookie."""

import hashlib
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable
from functools import partial
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from secrets import compare_digest
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from local_stack.answers import Answer, body_of
from local_stack.authorize_request import CLI, AuthorizeRequest, RefusedRequest, UntrustedRequest, read_request, refuse_wrong
from local_stack.identity_page import FONT_NAMES, STYLE, code_page, consent_page, font, problem_page, signed_out_page
from local_stack.identity_records import Grant, IdentityRecords, TooManyTries
from local_stack.identity_tokens import LIFETIME_S, TokenMint

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

_RECORDS = "identity.sqlite"
_COOKIE_S = 30 * 24 * 3600
_LONGEST_FORM = 16_384


class LocalIssuer:
    """A WSGI application for the paths below ``url``, which lies at /auth of ``origin``; it keeps its files in ``data``."""

    def __init__(self, data: Path, url: str, *, origin: str, now: Callable[[], float] = time.time) -> None:
        self.origin = origin
        self.issuer = url
        # Browsers keep one cookie jar for all ports of a host: two stacks on one machine need two names.
        self._cookie_name = f"tutti_session_{urlsplit(origin).port}"
        self._records = IdentityRecords(data / _RECORDS, now=now)
        self._mint = TokenMint(data / "signing-key.json", self.issuer, now=now)

    def issue_code(self, user_name: str) -> str:
        """A one-time code that signs this user in, who is made when new. It works once, within 15 minutes."""
        return self._records.issue_code(user_name)

    def jwks(self) -> dict[str, Any]:
        """The public keys, as at /jwks.json."""
        return self._mint.jwks()

    def access_token(self, user_name: str, client: str = CLI) -> str:
        """An access token without the page: for the platform's own start, never offered over HTTP."""
        return self._mint.access_token(self._records.user(user_name), client)

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Answer one request; PATH_INFO is what follows /auth."""
        return self._answer(environ).send(environ, start_response)

    def _answer(self, environ: "WSGIEnvironment") -> Answer:
        method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")
        readable = "GET" if method == "HEAD" else method
        routes: dict[tuple[str, str], Callable[[WSGIEnvironment], Answer]] = {
            ("GET", "/.well-known/openid-configuration"): lambda _: Answer.json(HTTPStatus.OK, self._configuration()),
            ("GET", "/jwks.json"): lambda _: Answer.json(HTTPStatus.OK, self.jwks()),
            ("GET", "/style.css"): lambda _: Answer.text(HTTPStatus.OK, STYLE, "text/css; charset=utf-8"),
            ("GET", "/authorize"): self._authorize,
            ("POST", "/authorize"): self._authorize,
            ("POST", "/token"): self._token,
            ("POST", "/logout"): self._logout,
        }
        routes |= {("GET", f"/{name}"): partial(_font, name) for name in FONT_NAMES}
        route = routes.get((readable, path))
        if route is not None:
            return route(environ)
        if any(known == path for _, known in routes):
            return Answer.error(HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", f"{method} is not answered at {path}")
        return Answer.error(HTTPStatus.NOT_FOUND, "not_found", f"there is no {path[:80]} here")

    def _configuration(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks.json",
            "end_session_endpoint": f"{self.issuer}/logout",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["openid"],
        }

    def _authorize(self, environ: "WSGIEnvironment") -> Answer:
        query = _pairs(environ.get("QUERY_STRING", ""))
        try:
            asked = read_request(query, origin=self.origin)
        except UntrustedRequest as error:
            return problem_page(str(error))
        try:
            refuse_wrong(query, asked)
        except RefusedRequest as error:
            return Answer.redirect(asked.answer_url(error=error.error, error_description=str(error)))
        if environ["REQUEST_METHOD"] == "POST":
            return self._submitted(environ, asked)
        return self._asked(environ, asked)

    def _asked(self, environ: "WSGIEnvironment", asked: AuthorizeRequest) -> Answer:
        """A session answers the console at once; the command line needs a click, as any local program can ask in its name."""
        user = self._session_user(environ)
        if asked.silent:
            if user is None or asked.client == CLI:
                return Answer.redirect(asked.answer_url(error="login_required"))
            return self._granted(asked, user)
        if user is None:
            return code_page(_action(environ), form_targets=asked.redirect_origin)
        if asked.client == CLI:
            return consent_page(_action(environ), user, form_targets=asked.redirect_origin)
        return self._granted(asked, user)

    def _submitted(self, environ: "WSGIEnvironment", asked: AuthorizeRequest) -> Answer:
        if environ.get("HTTP_ORIGIN") != self.origin:
            return problem_page("The form was not sent from this page.")
        form = _form(environ)
        user = self._session_user(environ)
        if form.get("consent") == "yes" and user is not None:
            return self._granted(asked, user)
        try:
            user = self._records.redeem_code(form.get("code", ""))
        except TooManyTries:
            wait = "Too many wrong codes. Wait a minute, then type the code again."
            return code_page(_action(environ), problem=wait, status=429, form_targets=asked.redirect_origin)
        if user is None:
            wrong = "This code is not right, was used already, or is older than 15 minutes."
            return code_page(_action(environ), problem=wrong, status=403, form_targets=asked.redirect_origin)
        cookie = self._cookie(self._records.open_session(user), _COOKIE_S)
        return self._granted(asked, user).with_headers({"Set-Cookie": cookie})

    def _granted(self, asked: AuthorizeRequest, user: str) -> Answer:
        grant = Grant(user, asked.client, asked.redirect, asked.challenge, asked.nonce)
        return Answer.redirect(asked.answer_url(code=self._records.add_grant(grant)))

    def _token(self, environ: "WSGIEnvironment") -> Answer:
        form = _form(environ)
        if form.get("grant_type") != "authorization_code":
            return _token_error("unsupported_grant_type", "only authorization_code is offered")
        grant = self._records.take_grant(form.get("code", ""))
        if grant is None:
            return _token_error("invalid_grant", "the code is unknown, used or older than a minute")
        if (form.get("client_id"), form.get("redirect_uri")) != (grant.client, grant.redirect):
            return _token_error("invalid_grant", "the code was given to another client or address")
        if not compare_digest(_challenge(form.get("code_verifier", "")), grant.challenge):
            return _token_error("invalid_grant", "the code_verifier is not that of the request")
        user = self._records.user(grant.user)
        tokens = {
            "access_token": self._mint.access_token(user, grant.client),
            "id_token": self._mint.id_token(user, grant.client, grant.nonce),
        }
        return Answer.json(HTTPStatus.OK, tokens | {"token_type": "Bearer", "expires_in": LIFETIME_S})

    def _logout(self, environ: "WSGIEnvironment") -> Answer:
        """Only by a form of this origin: a link elsewhere must not sign anybody out."""
        if environ.get("HTTP_ORIGIN") != self.origin:
            return problem_page("The request to sign out was not sent from this page.")
        self._records.close_session(self._session(environ))
        return signed_out_page().with_headers({"Set-Cookie": self._cookie("", 0)})

    def _session_user(self, environ: "WSGIEnvironment") -> str | None:
        secret = self._session(environ)
        return self._records.session_user(secret) if secret else None

    def _session(self, environ: "WSGIEnvironment") -> str:
        try:
            cookie = SimpleCookie(environ.get("HTTP_COOKIE", ""))
        except CookieError:
            return ""
        return cookie[self._cookie_name].value if self._cookie_name in cookie else ""

    def _cookie(self, value: str, seconds: int) -> str:
        """No Secure: the laptop speaks plain HTTP on loopback."""
        return f"{self._cookie_name}={value}; Path=/auth; Max-Age={seconds}; HttpOnly; SameSite=Lax"


def issue_code(data: Path, user_name: str) -> str:
    """A one-time code of the issuer whose files are in ``data``, also while it runs in another process."""
    return IdentityRecords(data / _RECORDS).issue_code(user_name)


def _font(name: str, _: "WSGIEnvironment") -> Answer:
    return font(name)


def _pairs(text: str) -> dict[str, str]:
    """The parameters; one given twice is dropped, so that no two readers can see different ones."""
    pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=50)
    names = [name for name, _ in pairs]
    return {name: value for name, value in pairs if names.count(name) == 1}


def _form(environ: "WSGIEnvironment") -> dict[str, str]:
    if int(environ.get("CONTENT_LENGTH") or 0) > _LONGEST_FORM:
        return {}
    return _pairs(body_of(environ).decode("utf-8", "replace"))


def _action(environ: "WSGIEnvironment") -> str:
    return f"/auth/authorize?{environ.get('QUERY_STRING', '')}"


def _challenge(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def _token_error(code: str, description: str) -> Answer:
    return Answer.json(HTTPStatus.BAD_REQUEST, {"error": code, "error_description": description})

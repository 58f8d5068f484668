"""What an application asks of /authorize, checked before anything of it is used."""

from collections.abc import Mapping
from dataclasses import dataclass
from re import compile as regex
from urllib.parse import urlencode, urlsplit

CONSOLE, CLI = "console", "cli"

_CHALLENGE = regex(r"[A-Za-z0-9_-]{43}")  # the SHA-256 of a verifier, base64url
_LOOPBACK = ("127.0.0.1",)
_LONGEST = 512


class UntrustedRequest(Exception):
    """Client or redirect address is not known: the user is told, and nobody is sent anywhere."""


class RefusedRequest(Exception):
    """The client is known but asks for something wrong: it is told so by its redirect."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.error = error


@dataclass(frozen=True)
class AuthorizeRequest:
    """A request of a known client, to be answered at a redirect address of its own."""

    client: str
    redirect: str
    state: str
    nonce: str
    challenge: str
    silent: bool

    @property
    def redirect_origin(self) -> str:
        """Scheme, host and port of the redirect address."""
        parts = urlsplit(self.redirect)
        return f"{parts.scheme}://{parts.netloc}"

    def answer_url(self, **answer: str) -> str:
        """The redirect address with the answer and the client's state."""
        told = answer | ({"state": self.state} if self.state else {})
        return f"{self.redirect}{'&' if urlsplit(self.redirect).query else '?'}{urlencode(told)}"


def read_request(query: Mapping[str, str], *, origin: str) -> AuthorizeRequest:
    """The request; see the two errors for what is refused, and how."""
    client, redirect = query.get("client_id", ""), query.get("redirect_uri", "")
    if client not in (CONSOLE, CLI):
        raise UntrustedRequest(f"There is no application {client[:40]!r} here.")
    if not _may_redirect(client, redirect, origin):
        raise UntrustedRequest("The address to return to is not one of this application's.")
    challenge = query.get("code_challenge", "")
    return AuthorizeRequest(
        client=client,
        redirect=redirect,
        state=query.get("state", "")[:_LONGEST],
        nonce=query.get("nonce", "")[:_LONGEST],
        challenge=challenge if _CHALLENGE.fullmatch(challenge) else "",
        silent=query.get("prompt", "") == "none",
    )


def refuse_wrong(query: Mapping[str, str], asked: AuthorizeRequest) -> None:
    """Only the code flow with PKCE by SHA-256 is offered: RefusedRequest for anything else."""
    if query.get("response_type") != "code":
        raise RefusedRequest("unsupported_response_type", "response_type must be 'code'")
    if query.get("code_challenge_method") != "S256" or not asked.challenge:
        raise RefusedRequest("invalid_request", "a code_challenge of method S256 is needed")


def _may_redirect(client: str, redirect: str, origin: str) -> bool:
    """The console's own origin; for the command line any port of 127.0.0.1, never the name localhost (RFC 8252, 7.3 and 8.3)."""
    if len(redirect) > _LONGEST or any(c in redirect for c in "\\\r\n\t #@"):
        return False
    try:
        parts = urlsplit(redirect)
        port = parts.port
    except ValueError:
        return False
    if client == CONSOLE:
        return f"{parts.scheme}://{parts.netloc}" == origin and parts.path.startswith("/")
    return parts.scheme == "http" and parts.hostname in _LOOPBACK and port is not None

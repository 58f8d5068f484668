"""Access tokens of any OIDC issuer whose claims are Cognito's: in AWS Cognito itself, on the laptop the local issuer."""

import json
import time
import urllib.request
from collections.abc import Callable, Collection
from threading import Lock
from typing import Any

from joserfc import jwk, jwt
from joserfc.errors import JoseError
from joserfc.jwk import GuestProtocol

from chalicelib.contracts.account import Principal
from chalicelib.domain.errors import NotSignedIn, StoreUnavailable

_ALGORITHMS = ["RS256"]
_LEEWAY_S = 10
_REFETCH_AFTER_S = 60.0
_FETCH_WITHIN_S = 5.0

KeySetJson = Any


def fetch_from(url: str) -> Callable[[], KeySetJson]:
    """A fetcher of the issuer's key set over HTTP; it does not answer within 5 s: StoreUnavailable."""

    def fetch() -> KeySetJson:
        try:
            with urllib.request.urlopen(url, timeout=_FETCH_WITHIN_S) as answer:  # noqa: S310 (the address is a setting)
                keys: KeySetJson = json.load(answer)
        except (OSError, ValueError) as error:
            raise StoreUnavailable(f"the keys of the sign-in service cannot be read: {error}") from error
        return keys

    return fetch


class OidcVerifier:
    """Tells who an access token speaks for. Keys are fetched on first use, and again for a key id it does not know."""

    def __init__(
        self,
        issuer: str,
        client_ids: Collection[str],
        fetch_jwks: Callable[[], KeySetJson],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._issuer = issuer
        self._client_ids = frozenset(client_ids)
        self._fetch = fetch_jwks
        self._monotonic = monotonic
        self._keys: jwk.KeySet | None = None
        self._fetched_at = 0.0
        self._lock = Lock()
        self._claims = jwt.JWTClaimsRegistry(
            leeway=_LEEWAY_S,
            iss={"essential": True, "value": issuer},
            exp={"essential": True},
            sub={"essential": True},
        )

    def __call__(self, token: str) -> Principal:
        """Whom the token speaks for. Forged, expired, of another issuer or client, or no access token: NotSignedIn."""
        try:
            claims = self._decode(token)
            self._claims.validate(claims)
        except (JoseError, ValueError, KeyError, TypeError) as error:
            raise NotSignedIn("the access token is not valid any more") from error
        if claims.get("token_use") != "access":
            raise NotSignedIn("an access token is needed, and this is another kind of token")
        if claims.get("client_id") not in self._client_ids:
            raise NotSignedIn("the access token was given to another application")
        groups = claims.get("cognito:groups") or ()
        return Principal(user=claims["sub"], name=claims.get("username", ""), groups=tuple(groups))

    def _decode(self, token: str) -> dict[str, Any]:
        return jwt.decode(token, self._key_of, algorithms=_ALGORITHMS).claims

    def _key_of(self, signed: GuestProtocol) -> jwk.RSAKey:
        key_id = signed.headers().get("kid")
        for key in self._key_set(key_id).keys:
            if key.kid == key_id and isinstance(key, jwk.RSAKey):
                return key
        raise ValueError("signed with an unknown key")

    def _key_set(self, key_id: Any) -> jwk.KeySet:
        """The keys known; fetched again when this one is not among them, at most once a minute."""
        with self._lock:
            known = self._keys
            if known is not None and (self._knows(known, key_id) or self._fetched_lately()):
                return known
            self._fetched_at = self._monotonic()
            fetched = jwk.KeySet.import_key_set(self._fetch())
            self._keys = fetched
            return fetched

    def _fetched_lately(self) -> bool:
        return self._monotonic() - self._fetched_at < _REFETCH_AFTER_S

    @staticmethod
    def _knows(keys: jwk.KeySet, key_id: Any) -> bool:
        return any(key.kid == key_id for key in keys.keys)

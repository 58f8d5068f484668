"""The tokens of the local issuer: Cognito's claims, signed with a key that stays in the data folder."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from joserfc import jwk, jwt

from local_stack.identity_records import User
from local_stack.private_files import write_private

LIFETIME_S = 3600


class TokenMint:
    """Signs tokens for one issuer with an RSA key made on first use, kept readable by its owner only."""

    def __init__(self, key_file: Path, issuer: str, *, now: Callable[[], float] = time.time) -> None:
        self._issuer = issuer
        self._now = now
        self._key = _kept_key(key_file)

    def jwks(self) -> dict[str, Any]:
        """The public key as a key set."""
        return {"keys": [self._key.as_dict(private=False)]}

    def access_token(self, user: User, client: str) -> str:
        """A token for the API, good for an hour."""
        return self._sign(user, {"client_id": client, "token_use": "access", "username": user.name, "scope": "openid"})

    def id_token(self, user: User, client: str, nonce: str) -> str:
        """A token that tells the application who signed in; the API refuses it."""
        claims = {"aud": client, "token_use": "id", "cognito:username": user.name}
        return self._sign(user, claims | ({"nonce": nonce} if nonce else {}))

    def _sign(self, user: User, claims: dict[str, Any]) -> str:
        now = int(self._now())
        common = {
            "iss": self._issuer,
            "sub": user.sub,
            "cognito:groups": [],
            "iat": now,
            "auth_time": now,
            "exp": now + LIFETIME_S,
            "jti": str(uuid4()),
        }
        return jwt.encode({"alg": "RS256", "kid": self._key.kid}, common | claims, self._key)


def _kept_key(file: Path) -> jwk.RSAKey:
    if file.exists():
        return jwk.RSAKey.import_key(json.loads(file.read_text()))
    made = jwk.RSAKey.generate_key(2048, parameters={"use": "sig", "alg": "RS256"}, auto_kid=True)
    write_private(file, json.dumps(made.as_dict(private=True)))
    return made

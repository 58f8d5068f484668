"""A user, the bucket, and the keys to both."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class SignIn:
    """How to sign in here."""

    issuer: str
    authorize_url: str
    token_url: str
    cli_client_id: str
    scope: str = "openid"


@dataclass(frozen=True)
class Me:
    """The signed-in user; ``bucket`` is None before it is created."""

    user: str
    name: str
    bucket: str | None


@dataclass(frozen=True)
class Bucket:
    """The user's bucket and how other S3 tools reach it."""

    name: str
    endpoint_url: str | None
    region: str


@dataclass(frozen=True)
class BucketCredentials:
    """A key pair for other S3 tools, shown once."""

    access_key_id: str
    secret_access_key: str
    bucket: str
    endpoint_url: str | None
    region: str
    session_token: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True)
class ApiKey:
    """An API key without its secret."""

    id: str
    label: str
    created_at: datetime
    last_used_at: datetime | None = None


@dataclass(frozen=True)
class ApiKeys:
    """The user's keys, newest first."""

    keys: tuple[ApiKey, ...]


@dataclass(frozen=True)
class ApiKeyMade:
    """A new API key with its secret, shown once."""

    id: str
    label: str
    created_at: datetime
    secret: str

"""A user, the bucket, and the keys to both."""

from pydantic import Field

from chalicelib.contracts.base import Instant, Lenient, Strict


class Principal(Lenient):
    """Who a request comes from, as the authorizer found."""

    user: str
    name: str = ""
    groups: tuple[str, ...] = ()


class WorkerPrincipal(Lenient):
    """Which worker a request comes from, as the worker authorizer found."""

    job_id: str
    attempt: int
    site: str
    role: str


class Me(Lenient):
    """The signed-in user; ``region`` is where the bucket is, or will be made."""

    user: str
    name: str
    bucket: str | None
    region: str


class Bucket(Lenient):
    """The user's bucket, and how other tools reach it."""

    name: str
    endpoint_url: str | None
    region: str


class BucketCredentials(Lenient):
    """A key pair for other S3 tools, shown once."""

    access_key_id: str
    secret_access_key: str
    session_token: str | None = None
    expires_at: Instant | None = None
    bucket: str
    endpoint_url: str | None
    region: str


class ApiKeyWish(Strict):
    """A new API key; the label is for the user's eyes."""

    label: str = Field(default="", max_length=80)


class ApiKey(Lenient):
    """An API key without its secret."""

    id: str
    label: str
    created_at: Instant
    last_used_at: Instant | None = None


class ApiKeyMade(Lenient):
    """A new API key; the secret is shown this once."""

    id: str
    label: str
    created_at: Instant
    secret: str


class ApiKeys(Lenient):
    """The user's keys, newest first."""

    keys: tuple[ApiKey, ...]


class SignIn(Lenient):
    """How to sign in here: the issuer and the client ids of the console and of the command line."""

    issuer: str
    authorize_url: str
    token_url: str
    client_id: str
    cli_client_id: str
    scope: str = "openid"

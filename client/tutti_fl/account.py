"""The signed-in user, the bucket, and the keys."""

from urllib.parse import quote

from tutti_fl.shapes.account import ApiKey, ApiKeyMade, ApiKeys, Bucket, BucketCredentials, Me, SignIn
from tutti_fl.transport import Transport


class Account:
    """What belongs to the user rather than to a workspace."""

    def __init__(self, transport: Transport) -> None:
        self._http = transport

    def me(self) -> Me:
        """Who the token belongs to."""
        return self._http.get(Me, "/me")

    def sign_in(self) -> SignIn:
        """How to sign in here; needs no token."""
        return self._http.get(SignIn, "/sign-in")

    def bucket(self) -> Bucket:
        """The user's bucket; TuttiError ``no_bucket`` before it is created."""
        return self._http.get(Bucket, "/me/bucket")

    def create_bucket(self) -> Bucket:
        """The user's one bucket, made if it is not there yet."""
        return self._http.post(Bucket, "/me/bucket", again=True)

    def bucket_credentials(self) -> BucketCredentials:
        """A new key pair for other S3 tools, shown this once; an earlier pair may stop working."""
        return self._http.post(BucketCredentials, "/me/bucket/credentials")

    def api_keys(self) -> tuple[ApiKey, ...]:
        """The user's API keys, newest first."""
        return self._http.get(ApiKeys, "/me/keys").keys

    def make_key(self, label: str = "") -> ApiKeyMade:
        """A new API key; its secret is shown this once."""
        return self._http.post(ApiKeyMade, "/me/keys", {"label": label})

    def revoke_key(self, key_id: str) -> None:
        """The key stops working at once."""
        self._http.call("DELETE", f"/me/keys/{quote(key_id, safe='')}")

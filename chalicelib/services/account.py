"""A user, the bucket, and the keys."""

import hashlib

from chalicelib.contracts.account import (
    ApiKey,
    ApiKeyMade,
    ApiKeys,
    ApiKeyWish,
    Bucket,
    BucketCredentials,
    Me,
    Principal,
)
from chalicelib.domain.errors import NoBucket, NotSignedIn
from chalicelib.ports import AccountStore, BucketKeys, Clock, Ids, ObjectStore
from chalicelib.settings import Settings

KEY_PREFIX = "tutti_"
"""How an API key begins, so that the authorizer and secret scanners know it."""
WORKER_PREFIX = "tutti_worker_"
"""How a worker's code and token begin: contracts/masking.py knows every secret of ours by its first letters."""


def hashed(secret: str) -> str:
    """The SHA-256 of a secret of 256 random bits, in hex: what is stored in its place."""
    return hashlib.sha256(secret.encode()).hexdigest()


def me(user: Principal, *, accounts: AccountStore, bucket_keys: BucketKeys) -> Me:
    """The signed-in user, and the bucket if there is one."""
    return Me(user=user.user, name=user.name, bucket=accounts.bucket_of(user.user), region=bucket_keys.region())


def bucket_name(user: Principal, *, accounts: AccountStore) -> str:
    """The user's bucket, or NoBucket with what to do."""
    name = accounts.bucket_of(user.user)
    if name is None:
        raise NoBucket("you have no bucket yet")
    return name


def show_bucket(user: Principal, *, accounts: AccountStore, bucket_keys: BucketKeys) -> Bucket:
    """The user's bucket and how other tools reach it."""
    name = bucket_name(user, accounts=accounts)
    return Bucket(name=name, endpoint_url=bucket_keys.endpoint(), region=bucket_keys.region())


def create_bucket(
    user: Principal, *, accounts: AccountStore, objects: ObjectStore, bucket_keys: BucketKeys, settings: Settings
) -> Bucket:
    """The user's one bucket, made if it is not there; again: the same one, its settings written anew."""
    digest = hashlib.sha256(f"{settings.platform_bucket}/{user.user}".encode()).hexdigest()[:16]
    name = accounts.bucket_of(user.user) or f"{settings.bucket_prefix}{digest}"
    objects.create_bucket(name, origins=settings.origins)
    accounts.set_bucket(user.user, name)
    return show_bucket(user, accounts=accounts, bucket_keys=bucket_keys)


def issue_credentials(user: Principal, *, accounts: AccountStore, bucket_keys: BucketKeys) -> BucketCredentials:
    """A key pair for the user's bucket alone, shown this once."""
    return bucket_keys.issue(bucket_name(user, accounts=accounts))


def make_key(user: Principal, wish: ApiKeyWish, *, accounts: AccountStore, ids: Ids, clock: Clock) -> ApiKeyMade:
    """A new API key; its secret is not stored and never shown again."""
    secret = KEY_PREFIX + ids.secret()
    key = ApiKey(id=f"key-{hashed(secret)[:12]}", label=wish.label, created_at=clock.now())
    accounts.add_key(user.user, key, name=user.name, secret_hash=hashed(secret))
    return ApiKeyMade(id=key.id, label=key.label, created_at=key.created_at, secret=secret)


def list_keys(user: Principal, *, accounts: AccountStore) -> ApiKeys:
    """The user's keys without their secrets."""
    return ApiKeys(keys=tuple(accounts.keys(user.user)))


def user_of_key(secret: str, *, accounts: AccountStore, clock: Clock) -> Principal:
    """Whose API key it is; NotSignedIn when it is unknown or revoked."""
    found = accounts.user_of_key(hashed(secret), at=clock.now())
    if found is None:
        raise NotSignedIn("the API key is unknown or was revoked")
    return Principal(user=found[0], name=found[1])

"""The signed-in user, the bucket, the keys."""

from chalice.app import Blueprint

from chalicelib.bootstrap import current_app
from chalicelib.contracts.account import ApiKeyMade, ApiKeys, ApiKeyWish, Bucket, BucketCredentials, Me
from chalicelib.contracts.files import DropUploads, HalfUploads, Usage
from chalicelib.entrypoints.auth import user_authorizer
from chalicelib.entrypoints.http import endpoint, principal, query
from chalicelib.services import account, bucket

bp = Blueprint(__name__)


@bp.route("/me", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def me() -> Me:
    """The signed-in user."""
    app = current_app()
    return account.me(principal(bp.current_request), accounts=app.accounts, bucket_keys=app.bucket_keys)


@bp.route("/me/bucket", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def show_bucket() -> Bucket:
    """The user's bucket and how other tools reach it."""
    app = current_app()
    return account.show_bucket(principal(bp.current_request), accounts=app.accounts, bucket_keys=app.bucket_keys)


@bp.route("/me/bucket", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, status=201)
def create_bucket() -> Bucket:
    """Create the user's bucket; again: the same one."""
    app = current_app()
    return account.create_bucket(
        principal(bp.current_request),
        accounts=app.accounts,
        objects=app.objects,
        bucket_keys=app.bucket_keys,
        settings=app.settings,
    )


@bp.route("/me/bucket/credentials", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, status=201)
def issue_credentials() -> BucketCredentials:
    """A key pair for other S3 tools, shown once."""
    app = current_app()
    return account.issue_credentials(principal(bp.current_request), accounts=app.accounts, bucket_keys=app.bucket_keys)


@bp.route("/me/bucket/usage", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, query=("cursor",))
def show_usage() -> Usage:
    """What the bucket holds, by workspace and folder."""
    app, request = current_app(), bp.current_request
    return bucket.usage(principal(request), cursor=query(request, "cursor"), accounts=app.accounts, objects=app.objects)


@bp.route("/me/bucket/uploads", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def show_half_uploads() -> HalfUploads:
    """The uploads that were begun and never completed."""
    app = current_app()
    return bucket.half_uploads(principal(bp.current_request), accounts=app.accounts, objects=app.objects)


@bp.route("/me/bucket/uploads/drop", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, takes=DropUploads)
def drop_half_uploads(wish: DropUploads) -> None:
    """Drop half uploads and what the bucket holds of them."""
    app = current_app()
    bucket.drop_uploads(principal(bp.current_request), wish, accounts=app.accounts, objects=app.objects)


@bp.route("/me/keys", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def list_keys() -> ApiKeys:
    """The user's API keys without their secrets."""
    return account.list_keys(principal(bp.current_request), accounts=current_app().accounts)


@bp.route("/me/keys", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, status=201, takes=ApiKeyWish)
def make_key(wish: ApiKeyWish) -> ApiKeyMade:
    """A new API key, its secret shown once."""
    app, request = current_app(), bp.current_request
    return account.make_key(principal(request), wish, accounts=app.accounts, ids=app.ids, clock=app.clock)


@bp.route("/me/keys/{key_id}", methods=["DELETE"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def revoke_key(key_id: str) -> None:
    """Revoke an API key at once."""
    current_app().accounts.remove_key(principal(bp.current_request).user, key_id)

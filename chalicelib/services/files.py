"""The files of a user's bucket: list, download, delete."""

from datetime import timedelta
from pathlib import PurePosixPath

from chalicelib.contracts.account import Principal
from chalicelib.contracts.files import Deleted, DeleteFiles, Listing, SignedDownload
from chalicelib.domain import object_keys
from chalicelib.domain.uploads import check_key
from chalicelib.ports import AccountStore, JobStore, ObjectStore
from chalicelib.services.account import bucket_name
from chalicelib.settings import Settings


def list_files(
    user: Principal, *, prefix: str, cursor: str | None, delimiter: str, accounts: AccountStore, objects: ObjectStore
) -> Listing:
    """One page of the user's bucket."""
    bucket = bucket_name(user, accounts=accounts)
    return objects.list(bucket, prefix, cursor=cursor, delimiter=delimiter)


def sign_download(
    user: Principal, key: str, *, accounts: AccountStore, objects: ObjectStore, settings: Settings
) -> SignedDownload:
    """A URL that gives one object of the user's bucket; absent: ObjectNotFound."""
    check_key(key)
    bucket = bucket_name(user, accounts=accounts)
    info = objects.head(bucket, key)
    expires = timedelta(seconds=settings.url_expiry_s)
    url = objects.sign_get(bucket, key, expires=expires, version=info.version, filename=PurePosixPath(key).name)
    return SignedDownload(url=url, key=key, size=info.size, etag=info.etag, expires_in_s=settings.url_expiry_s)


def delete_files(user: Principal, wish: DeleteFiles, *, accounts: AccountStore, objects: ObjectStore, jobs: JobStore) -> Deleted:
    """Delete what is not in use; the inputs of a running job are refused by name."""
    for key in wish.keys:
        check_key(key.removesuffix("/"))  # a folder marker may be deleted too
    bucket = bucket_name(user, accounts=accounts)
    refused = {key: why for key in wish.keys if (why := guard(user, key, jobs=jobs))}
    deleted = tuple(key for key in wish.keys if key not in refused)
    objects.delete(bucket, deleted)
    return Deleted(deleted=deleted, refused=refused)


def guard(user: Principal, key: str, *, jobs: JobStore) -> str | None:
    """Why a key may not be deleted now: it is an input of a workspace whose job is active."""
    place = object_keys.workspace_of(key)
    if place is None or not object_keys.is_input(place[1]):
        return None
    job = jobs.active_in(user.user, place[0])
    return f"{job.id} is using it; cancel the job or wait until it has ended" if job else None

"""The files of a user's bucket: list, download, delete and bring back, rename, make folders."""

from collections.abc import Callable
from datetime import timedelta
from functools import cache
from pathlib import PurePosixPath

from chalicelib.contracts.account import Principal
from chalicelib.contracts.files import (
    Deleted,
    DeleteFiles,
    FolderState,
    Listing,
    MoveFile,
    NewFolder,
    ObjectInfo,
    Restored,
    RestoreFiles,
    SignedDownload,
)
from chalicelib.contracts.job import Job
from chalicelib.domain import object_keys
from chalicelib.domain.errors import FileTaken, ObjectNotFound, WorkspaceBusy
from chalicelib.domain.uploads import check_key
from chalicelib.ports import AccountStore, JobStore, ObjectStore
from chalicelib.services.account import bucket_name
from chalicelib.settings import Settings

PAGE = 1000
"""The most keys of one page of a listing."""


def list_files(
    user: Principal,
    *,
    prefix: str,
    cursor: str | None,
    delimiter: str,
    limit: int = PAGE,
    accounts: AccountStore,
    objects: ObjectStore,
) -> Listing:
    """One page of the user's bucket."""
    bucket = bucket_name(user, accounts=accounts)
    return objects.list(bucket, prefix, cursor=cursor, limit=min(max(limit, 1), PAGE), delimiter=delimiter)


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
    """Delete what is not in use; what a running job reads or writes is refused by name."""
    for key in wish.keys:
        check_key(key.removesuffix("/"))  # a folder marker may be deleted too
    bucket = bucket_name(user, accounts=accounts)
    guard = guards(user, jobs=jobs)
    refused = {key: why for key in wish.keys if (why := guard(key))}
    deleted = tuple(key for key in wish.keys if key not in refused)
    objects.delete(bucket, deleted)
    return Deleted(deleted=deleted, refused=refused)


def restore_files(user: Principal, wish: RestoreFiles, *, accounts: AccountStore, objects: ObjectStore) -> Restored:
    """Undo a deletion, as far as the bucket keeps versions."""
    bucket = bucket_name(user, accounts=accounts)
    return Restored(restored=tuple(objects.restore(bucket, wish.keys)))


def move_file(user: Principal, wish: MoveFile, *, accounts: AccountStore, objects: ObjectStore, jobs: JobStore) -> ObjectInfo:
    """Give an object another key. One that is taken: FileTaken; in the folders of a running job: WorkspaceBusy."""
    check_key(wish.key)
    check_key(wish.to)
    bucket = bucket_name(user, accounts=accounts)
    guard = guards(user, jobs=jobs)
    why = guard(wish.key) or guard(wish.to)
    if why:
        raise WorkspaceBusy(why)
    if wish.to == wish.key or _is_there(objects, bucket, wish.to):
        raise FileTaken(f"{wish.to} is there already", fields={"to": "another name"})
    moved = objects.copy(bucket, wish.key, to_key=wish.to)
    objects.delete(bucket, [wish.key])
    return moved


def make_folder(user: Principal, wish: NewFolder, *, accounts: AccountStore, objects: ObjectStore) -> None:
    """Write the empty object that shows a folder which holds nothing yet. One that is there: FileTaken."""
    prefix = wish.prefix.removesuffix("/")
    check_key(prefix)
    bucket = bucket_name(user, accounts=accounts)
    if objects.list(bucket, f"{prefix}/", limit=1).objects or _is_there(objects, bucket, prefix):
        raise FileTaken(f"{prefix} is there already", fields={"prefix": "another name"})
    objects.put(bucket, f"{prefix}/", b"", content_type="application/x-directory")


def folder_state(user: Principal, prefix: str, *, accounts: AccountStore, objects: ObjectStore, jobs: JobStore) -> FolderState:
    """Whether deletions under the prefix can be undone, and what a running job guards there."""
    keeps = objects.keeps_versions(bucket_name(user, accounts=accounts))
    place = object_keys.workspace_of(f"{prefix.removesuffix('/')}/x")
    job = jobs.active_in(user.user, place[0]) if place else None
    if place is None or job is None:
        return FolderState(keeps_versions=keeps)
    return FolderState(keeps_versions=keeps, guarded_by=job.id, guarded=object_keys.guarded(place[0], job.id))


def guards(user: Principal, *, jobs: JobStore) -> Callable[[str], str | None]:
    """Says of a key why it may not be touched now: the active job of its workspace reads or writes it."""

    @cache  # a thousand keys of one folder are one question
    def active(workspace: str) -> Job | None:
        return jobs.active_in(user.user, workspace)

    def guard(key: str) -> str | None:
        place = object_keys.workspace_of(key)
        job = active(place[0]) if place else None
        if place is None or job is None or not key.startswith(object_keys.guarded(place[0], job.id)):
            return None
        return f"{job.id} is using it; cancel the job or wait until it has ended"

    return guard


def _is_there(objects: ObjectStore, bucket: str, key: str) -> bool:
    try:
        objects.head(bucket, key)
    except ObjectNotFound:
        return False
    return True

"""What a user's bucket holds: its size by workspace, and the uploads that were begun and never completed."""

from collections import Counter

from chalicelib.contracts.account import Principal
from chalicelib.contracts.files import DropUploads, FolderUsage, HalfUploads, Usage
from chalicelib.domain import object_keys
from chalicelib.domain.errors import UploadNotFound
from chalicelib.domain.uploads import check_key
from chalicelib.ports import AccountStore, ObjectStore
from chalicelib.services.account import bucket_name

PAGES = 10
"""Of 1,000 objects each: what one answer counts, so that the largest bucket is counted in answers of a few seconds."""
SHOWN = 100


def usage(user: Principal, *, cursor: str | None, accounts: AccountStore, objects: ObjectStore) -> Usage:
    """Objects and bytes of the newest versions, by workspace and folder, of one stretch of the bucket; summed by the asker."""
    bucket = bucket_name(user, accounts=accounts)
    counts: Counter[tuple[str, str]] = Counter()
    sizes: Counter[tuple[str, str]] = Counter()
    for _ in range(PAGES):
        page = objects.list(bucket, cursor=cursor)
        for item in page.objects:
            place = _place(item.key)
            counts[place] += 1
            sizes[place] += item.size
        cursor = page.cursor
        if cursor is None:
            break
    rows = (FolderUsage(workspace=ws, folder=folder, objects=n, bytes=sizes[ws, folder]) for (ws, folder), n in counts.items())
    return Usage(folders=tuple(rows), cursor=cursor)


def _place(key: str) -> tuple[str, str]:
    """(workspace, folder inside it); empty where there is none."""
    found = object_keys.workspace_of(key.rstrip("/"))
    if found is None:
        return "", ""
    workspace, path = found
    folder, slash, _ = path.partition("/")
    return workspace, folder if slash else ""


def half_uploads(user: Principal, *, accounts: AccountStore, objects: ObjectStore) -> HalfUploads:
    """The oldest uploads that were begun, by Tutti or any other tool, and neither completed nor dropped."""
    bucket = bucket_name(user, accounts=accounts)
    found = sorted(objects.half_uploads(bucket), key=lambda upload: upload.started_at)
    shown = tuple(
        upload.model_copy(update={"bytes": _stored(bucket, upload.key, upload.id, objects=objects)}) for upload in found[:SHOWN]
    )
    return HalfUploads(uploads=shown, more=len(found) - len(shown))


def _stored(bucket: str, key: str, upload_id: str, *, objects: ObjectStore) -> int:
    try:
        return sum(part.size for part in objects.parts(bucket, key, upload_id))
    except UploadNotFound:  # completed or dropped since it was listed
        return 0


def drop_uploads(user: Principal, wish: DropUploads, *, accounts: AccountStore, objects: ObjectStore) -> None:
    """Drop half uploads and the parts they hold; silent for one that is gone."""
    bucket = bucket_name(user, accounts=accounts)
    for upload in wish.uploads:
        check_key(upload.key)
    for upload in wish.uploads:
        objects.abort_upload(bucket, upload.key, upload.id)

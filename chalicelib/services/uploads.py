"""Uploads: the bytes go straight to the bucket, part by part, by signed URLs; the store's listing says when one is whole."""

from datetime import timedelta

from chalicelib.contracts.account import Principal
from chalicelib.contracts.files import ObjectInfo, Part, PartNumbers, Parts, PartUrl, PartUrls, Upload, UploadStart
from chalicelib.domain.errors import ObjectNotFound, UploadNotFound
from chalicelib.domain.uploads import check_complete, check_key, part_count, part_size, size_of_part
from chalicelib.ports import AccountStore, Clock, Ids, ObjectStore, UploadRecord
from chalicelib.services.account import bucket_name
from chalicelib.settings import Settings


def start_upload(
    user: Principal, wish: UploadStart, *, accounts: AccountStore, objects: ObjectStore, ids: Ids, clock: Clock
) -> Upload:
    """Begin a multipart upload of one file of this size into the user's bucket."""
    check_key(wish.key)
    bucket = bucket_name(user, accounts=accounts)
    store_id = objects.start_upload(bucket, wish.key, content_type=wish.content_type)
    record = UploadRecord(
        id=ids.secret()[:22],
        owner=user.user,
        bucket=bucket,
        key=wish.key,
        size=wish.size,
        part_size=part_size(wish.size),
        store_id=store_id,
        started_at=clock.now(),
    )
    accounts.add_upload(record)
    return Upload(id=record.id, key=record.key, size=record.size, part_size=record.part_size, parts=part_count(record.size))


def sign_parts(
    user: Principal, upload_id: str, wish: PartNumbers, *, accounts: AccountStore, objects: ObjectStore, settings: Settings
) -> PartUrls:
    """A URL per part asked for; each accepts exactly that part's bytes."""
    record = accounts.upload(user.user, upload_id)
    expires = timedelta(seconds=settings.url_expiry_s)

    def sign(number: int) -> PartUrl:
        size = size_of_part(record.size, number)
        url = objects.sign_part(record.bucket, record.key, record.store_id, number, size=size, expires=expires)
        return PartUrl(number=number, url=url, size=size)

    return PartUrls(urls=tuple(sign(number) for number in wish.numbers), expires_in_s=settings.url_expiry_s)


def list_parts(user: Principal, upload_id: str, *, accounts: AccountStore, objects: ObjectStore) -> Parts:
    """What the store has of the upload."""
    return Parts(parts=_stored(accounts.upload(user.user, upload_id), objects=objects))


def complete_upload(user: Principal, upload_id: str, *, accounts: AccountStore, objects: ObjectStore) -> ObjectInfo:
    """Make the object once every part is there with its size; UploadIncomplete names the first that is not.

    Again, when the answer was lost: the object that was made."""
    record = accounts.upload(user.user, upload_id)
    try:
        parts = _stored(record, objects=objects)
    except UploadNotFound:
        return _made_before(record, objects=objects)
    check_complete(record.size, parts)
    return objects.complete_upload(record.bucket, record.key, record.store_id, parts)


def _made_before(record: UploadRecord, *, objects: ObjectStore) -> ObjectInfo:
    try:
        info = objects.head(record.bucket, record.key)
    except ObjectNotFound:
        raise UploadNotFound(f"the upload of {record.key} was dropped") from None
    if info.size != record.size:
        raise UploadNotFound(f"the upload of {record.key} was dropped, and another file has its name")
    return info


def abort_upload(user: Principal, upload_id: str, *, accounts: AccountStore, objects: ObjectStore) -> None:
    """Drop the upload and its parts."""
    record = accounts.upload(user.user, upload_id)
    objects.abort_upload(record.bucket, record.key, record.store_id)
    accounts.remove_upload(user.user, upload_id)


def _stored(record: UploadRecord, *, objects: ObjectStore) -> tuple[Part, ...]:
    return tuple(objects.parts(record.bucket, record.key, record.store_id))

"""The files of the user's bucket."""

from collections.abc import Iterator, Sequence

from tutti_fl.shapes.files import Deleted, Listing, ObjectInfo, SignedDownload
from tutti_fl.transport import Transport


class Files:
    """List, sign and delete. Keys are whole, from the root of the bucket."""

    def __init__(self, transport: Transport) -> None:
        self._http = transport

    def page(self, prefix: str = "", *, cursor: str | None = None, delimiter: str | None = None) -> Listing:
        """One page of the bucket, in key order; with delimiter ``/`` one folder of it."""
        return self._http.get(Listing, "/files", prefix=prefix, cursor=cursor, delimiter=delimiter)

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Every object under the prefix, page by page."""
        cursor: str | None = None
        while True:
            page = self.page(prefix, cursor=cursor)
            yield from page.objects
            cursor = page.cursor
            if cursor is None:
                return

    def find(self, key: str) -> ObjectInfo | None:
        """The object with exactly this key, or None."""
        return next((item for item in self.page(key).objects if item.key == key), None)

    def sign(self, key: str) -> SignedDownload:
        """A URL that gives the object for a while."""
        return self._http.post(SignedDownload, "/files/download", {"key": key}, again=True)

    def delete(self, keys: Sequence[str]) -> Deleted:
        """Delete up to 1,000 objects; inputs of a running job are refused by name."""
        return self._http.post(Deleted, "/files/delete", {"keys": list(keys)}, again=True)

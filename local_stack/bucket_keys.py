"""BucketKeys on the laptop: one SeaweedFS identity per bucket, replaced at each issue."""

import time

from chalicelib.contracts.account import BucketCredentials
from chalicelib.domain.errors import FLError, StoreUnavailable
from local_stack.object_store import REGION, ObjectStoreDown, SeaweedFS
from local_stack.store_identities import KeyPair

_KNOWN_WITHIN_S = 10.0


class SeaweedBucketKeys:
    """Key pairs that open one bucket and no other; they do not expire, and each issue ends the pair before."""

    def __init__(self, store: SeaweedFS) -> None:
        self._store = store

    def issue(self, bucket: str) -> BucketCredentials:
        """A new pair, answered once the store accepts it. The store does not answer: StoreUnavailable."""
        pair = self._store.identities.replace(bucket)
        try:
            self._store.reload()
        except ObjectStoreDown as error:
            raise StoreUnavailable(str(error)) from error
        self._wait_until_known(bucket, pair)
        return BucketCredentials(
            access_key_id=pair.access_key,
            secret_access_key=pair.secret_key,
            bucket=bucket,
            endpoint_url=self.endpoint(),
            region=self.region(),
        )

    def endpoint(self) -> str | None:
        """The S3 endpoint other tools use."""
        return self._store.endpoint

    def region(self) -> str:
        """The region to sign for."""
        return REGION

    def _wait_until_known(self, bucket: str, pair: KeyPair) -> None:
        deadline = time.monotonic() + _KNOWN_WITHIN_S
        trial = self._store.client(pair)
        try:
            while True:
                try:
                    trial.list(bucket, limit=1)
                except FLError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.05)
                else:
                    return
        finally:
            trial.close()

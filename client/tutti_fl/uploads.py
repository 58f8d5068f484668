"""Files on disk to objects of the bucket: straight to the store, in parts, several at once, and again where it broke off."""

import time
from collections.abc import Callable, Sequence
from functools import partial

from tutti_fl.connections import open_http
from tutti_fl.errors import TuttiError
from tutti_fl.lanes import Lanes
from tutti_fl.memory import Memory, NoMemory
from tutti_fl.meter import Meter, Progress
from tutti_fl.part_urls import Clock, upload_path
from tutti_fl.shapes.files import ObjectInfo
from tutti_fl.transfer import Means, Send, Transfer
from tutti_fl.transport import Transport

LANES = 5
"""How many parts are on their way at once, whatever the number of files."""


class Uploads:
    """The upload engine of one client."""

    def __init__(self, transport: Transport, *, clock: Clock = time.monotonic) -> None:
        self._http, self._clock = transport, clock

    def send(
        self,
        files: Sequence[Send],
        *,
        memory: Memory | None = None,
        progress: Callable[[Progress], None] = lambda _: None,
        lanes: int = LANES,
    ) -> tuple[ObjectInfo, ...]:
        """Upload everything; the objects in the order given, each whole.

        With a memory an upload that broke off is resumed. An outage is sat out for about two minutes. ``progress`` is called from
        the lanes' threads, one at a time.
        """
        meter = Meter(len(files), sum(send.path.stat().st_size for send in files), progress)
        queue = Lanes(lanes)
        with open_http(timeout_s=120.0) as store:
            patient = self._http.patient(meter.trouble)
            means = Means(self._http, patient, store, memory or NoMemory(), meter, self._clock)
            transfers = [Transfer(send, means) for send in files]
            try:
                queue.run([partial(transfer.begin, queue) for transfer in transfers])
            except (TuttiError, OSError):
                for transfer in transfers:
                    transfer.abandon()
                raise
        return tuple(transfer.result for transfer in transfers)

    def abort(self, upload_id: str) -> None:
        """Drop an upload and its parts."""
        self._http.call("DELETE", upload_path(upload_id))

"""A client component that tells the supervisor when the client has registered, and when its job is over."""

import os
from pathlib import Path

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_context import FLContext

from chalicelib.contracts.worker import JoinedEvent
from tutti_worker.federation.journal import write_event

ENDED = "TUTTI_ENDED"
"""Names the file that shall exist once this client has reported the end of its job to the server."""


class Joined(FLComponent):  # type: ignore[misc]
    """Follows the life of a client's parent process."""

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:  # noqa: ARG002 - NVFLARE's signature
        """Write what happened where the supervisor looks."""
        if event_type == EventType.AFTER_CLIENT_REGISTER:
            write_event(JoinedEvent())
        elif event_type == EventType.JOB_COMPLETED and (place := os.environ.get(ENDED)):
            Path(place).touch()

"""A server component that submits the one job by itself: no admin, no console."""

import os
import threading
import time
from pathlib import Path
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.fl_context import FLContext
from nvflare.apis.job_def import JobMetaKey
from nvflare.fuel.utils.zip_utils import zip_directory_to_file

from chalicelib.contracts.job import Cause, ReasonCode
from chalicelib.contracts.worker import FailedEvent, JoinedEvent
from tutti_worker.federation.journal import write_event
from tutti_worker.layout import Layout

_POLL_S = 0.1
_ORGANISATION = "tutti"


class AutoSubmit(FLComponent):  # type: ignore[misc]
    """Says when the server listens, submits the job once every site has registered, and notes how NVFLARE ended it.

    Never earlier: NVFLARE hands a job to whoever is there, and a site that comes later misses it for good.
    """

    def __init__(self, job_folder: str, sites: list[str], address: str) -> None:
        super().__init__()
        self._job_folder, self._sites, self._address = Path(job_folder), frozenset(sites), address
        self._layout = Layout(Path(job_folder).parent)

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Follow the server's life."""
        if event_type == EventType.SYSTEM_START:
            write_event(JoinedEvent(address=self._address))
            engine = fl_ctx.get_engine()
            threading.Thread(target=self._submit_when_complete, args=(engine,), name="auto-submit", daemon=True).start()
        elif event_type == EventType.JOB_COMPLETED:
            self._note_end(fl_ctx)

    def _submit_when_complete(self, engine: Any) -> None:
        try:
            while not self._sites <= {client.name for client in engine.get_clients()}:
                time.sleep(_POLL_S)
            self._submit(engine)
        except Exception as error:
            self.logger.exception("the job could not be submitted")
            write_event(FailedEvent(cause=_refused(str(error))))

    def _submit(self, engine: Any) -> None:
        from nvflare.private.fed.server.job_meta_validator import JobMetaValidator

        packed = self._layout.temporary / "submitted.zip"
        zip_directory_to_file(str(self._job_folder.parent), self._job_folder.name, str(packed))
        with engine.new_context() as fl_ctx:
            valid, error, meta = JobMetaValidator().validate(self._job_folder.name, str(packed))
            if not valid:
                write_event(FailedEvent(cause=_refused(error)))
                return
            meta[JobMetaKey.SUBMITTER_NAME.value] = "tutti"
            meta[JobMetaKey.SUBMITTER_ORG.value] = _ORGANISATION
            meta[JobMetaKey.SUBMITTER_ROLE.value] = "project_admin"
            meta[JobMetaKey.JOB_FOLDER_NAME.value] = self._job_folder.name
            stored = engine.job_def_manager.create(meta, str(packed), fl_ctx)
            _write_whole(self._layout.submitted, str(stored[JobMetaKey.JOB_ID.value]))
        packed.unlink(missing_ok=True)

    def _note_end(self, fl_ctx: FLContext) -> None:
        job_id = fl_ctx.get_prop(FLContextKey.CURRENT_JOB_ID)
        job = fl_ctx.get_engine().get_component("job_manager").get_job(job_id, fl_ctx)
        _write_whole(self._layout.ended, str(job.meta.get(JobMetaKey.STATUS.value)) if job else "unknown")


def _refused(why: str) -> Cause:
    return Cause(code=ReasonCode.CONFIG_INVALID, sentence=f"NVFLARE refused the job: {why}", site="server")


def _write_whole(path: Path, text: str) -> None:
    half = path.with_suffix(".half")
    half.write_text(text)
    os.replace(half, path)  # noqa: PTH105 - the atomic one

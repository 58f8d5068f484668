"""Jobs: launch, look, follow, cancel."""

import time
import uuid
from collections.abc import Iterator
from urllib.parse import quote

from tutti_fl.errors import TuttiError, Unreachable
from tutti_fl.shapes.files import SignedDownload
from tutti_fl.shapes.jobs import Job, Jobs, Logs, LogSegment, Offer, Offers, Round, Rounds
from tutti_fl.shapes.live import Live
from tutti_fl.transport import PASSING, Pause, Transport


class JobsApi:
    """The jobs of the signed-in user."""

    def __init__(self, transport: Transport, *, pause: Pause = time.sleep) -> None:
        self._http = transport
        self._pause = pause

    def offers(self) -> tuple[Offer, ...]:
        """GPU types with price and free count, now."""
        return self._http.get(Offers, "/offers").offers

    def launch(
        self,
        workspace: str,
        *,
        gpu_type: str = "cpu",
        checkpoint_key: str | None = None,
        client_token: str | None = None,
    ) -> Job:
        """Start a job. The same client token again gives the same job, so a lost answer costs nothing."""
        body: dict[str, object] = {
            "workspace": workspace,
            "client_token": client_token or uuid.uuid4().hex,
            "requirements": {"gpu_type": gpu_type},
        }
        if checkpoint_key is not None:
            body["checkpoint_key"] = checkpoint_key
        return self._http.post(Job, "/jobs", body, again=True)

    def get(self, job_id: str) -> Job:
        """The job as it is now."""
        return self._http.get(Job, _path(job_id))

    def list(self, *, workspace: str | None = None) -> Iterator[Job]:
        """All jobs, newest first, page by page."""
        cursor: str | None = None
        while True:
            page = self._http.get(Jobs, "/jobs", cursor=cursor, workspace=workspace)
            yield from page.jobs
            cursor = page.cursor
            if cursor is None:
                return

    def live(self, job_id: str, after: int = 0) -> Live:
        """What changed after this number of the feed."""
        return self._http.get(Live, _path(job_id, "live"), after=after)

    def follow(self, job_id: str, *, after: int = 0, patience_s: float = 300.0) -> Iterator[Live]:
        """Every answer of the live feed until the job is over, asked for at the server's own pace.

        While the API does not answer, keeps asking for ``patience_s`` seconds before the error is raised.
        """
        quiet_since: float | None = None
        while True:
            try:
                live = self.live(job_id, after)
            except TuttiError as error:
                passing = isinstance(error, Unreachable) or error.status in PASSING
                quiet_since = quiet_since or time.monotonic()
                if not passing or time.monotonic() - quiet_since > patience_s:
                    raise
                self._pause(2.0)
                continue
            quiet_since, after = None, live.seq
            yield live
            if live.more:
                continue
            if live.next_in_ms is None:
                return
            self._pause(live.next_in_ms / 1000)

    def rounds(self, job_id: str) -> tuple[Round, ...]:
        """The finished rounds with every worker's numbers."""
        return self._http.get(Rounds, _path(job_id, "rounds")).rounds

    def logs(self, job_id: str, source: str | None = None) -> Iterator[LogSegment]:
        """The pieces of one log (``server``, ``site-1`` …) or of all, each with a URL, page by page."""
        after, more = 0, True
        while more:
            page = self._http.get(Logs, _path(job_id, "logs"), source=source, after=after)
            yield from page.segments
            after, more = page.after, page.more

    def cancel(self, job_id: str) -> Job:
        """Ask the job to stop; answered at once, the workers leave within seconds. Harmless when it has ended."""
        return self._http.post(Job, _path(job_id, "cancel"), again=True)

    def model(self, job_id: str) -> SignedDownload:
        """A URL that gives the trained model."""
        return self._http.post(SignedDownload, _path(job_id, "model"), again=True)


def _path(job_id: str, *rest: str) -> str:
    return "/".join(("/jobs", quote(job_id, safe=""), *rest))

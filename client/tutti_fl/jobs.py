"""Jobs: launch, look, follow, cancel."""

import time
import uuid
from collections.abc import Iterator
from urllib.parse import quote

from tutti_fl.errors import TuttiError
from tutti_fl.shapes.files import SignedDownload
from tutti_fl.shapes.jobs import Job, Jobs, Logs, LogSegment, Offer, Offers, Round, Rounds
from tutti_fl.shapes.live import Live
from tutti_fl.transport import Pause, Transport, is_passing


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
        outage = Outage(patience_s, self._pause)
        while True:
            try:
                live = self.live(job_id, after)
            except TuttiError as error:
                outage.sit_out(error)
                continue
            outage.over()
            after = live.seq
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
            page = self.logs_page(job_id, source, after=after)
            yield from page.segments
            after, more = page.after, page.more

    def logs_page(self, job_id: str, source: str | None = None, *, after: int = 0) -> Logs:
        """The pieces stored after a number of the feed, at most one page of them."""
        return self._http.get(Logs, _path(job_id, "logs"), source=source, after=after)

    def cancel(self, job_id: str) -> Job:
        """Ask the job to stop; answered at once, the workers leave within seconds. Harmless when it has ended."""
        return self._http.post(Job, _path(job_id, "cancel"), again=True)

    def model(self, job_id: str) -> SignedDownload:
        """A URL that gives the trained model."""
        return self._http.post(SignedDownload, _path(job_id, "model"), again=True)


class Outage:
    """While nobody answers: waits a little, and gives up after ``patience_s`` seconds."""

    def __init__(self, patience_s: float, pause: Pause) -> None:
        self._patience_s, self._pause = patience_s, pause
        self._since: float | None = None

    def sit_out(self, error: TuttiError) -> None:
        """Wait before the next attempt; raises the error when it will not pass, or has lasted too long."""
        self._since = self._since or time.monotonic()
        if not is_passing(error) or time.monotonic() - self._since > self._patience_s:
            raise error
        self._pause(2.0)

    def over(self) -> None:
        """An answer came."""
        self._since = None


def _path(job_id: str, *rest: str) -> str:
    return "/".join(("/jobs", quote(job_id, safe=""), *rest))

"""The door to everything: one address, one token."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tutti_fl.account import Account
from tutti_fl.downloads import download
from tutti_fl.files import Files
from tutti_fl.jobs import JobsApi
from tutti_fl.memory import Memory
from tutti_fl.meter import Progress
from tutti_fl.shapes.files import ObjectInfo
from tutti_fl.shapes.jobs import Job
from tutti_fl.shapes.live import Live
from tutti_fl.shapes.workspaces import Report
from tutti_fl.transfer import Send
from tutti_fl.transport import Pause, Retries, Transport
from tutti_fl.uploads import Uploads
from tutti_fl.workspaces import WorkspacesApi


class Client:
    """Tutti's API for one user. Safe to use from several threads; close it, or use it in a ``with``.

    Every method raises TuttiError with a code, a sentence and a hint. What can be repeated without harm is retried.
    """

    def __init__(self, url: str, token: str, *, retries: Retries | None = None, pause: Pause = time.sleep) -> None:
        self.transport = Transport(url, token, retries=retries)
        self.account = Account(self.transport)
        self.files = Files(self.transport)
        self.workspaces = WorkspacesApi(self.transport)
        self.uploads = Uploads(self.transport)
        self.jobs = JobsApi(self.transport, pause=pause)

    @property
    def url(self) -> str:
        """The address, without ``/api``."""
        return self.transport.url

    def upload(
        self,
        files: Sequence[Send],
        *,
        memory: Memory | None = None,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> tuple[ObjectInfo, ...]:
        """Upload files in parallel; the objects in the order given, each whole."""
        return self.uploads.send(files, memory=memory, progress=progress)

    def report(self, workspace: str) -> Report:
        """What validation says of the workspace as it is now."""
        return self.workspaces.check(workspace)

    def launch(self, workspace: str, *, gpu_type: str = "cpu", client_token: str | None = None) -> Job:
        """Start a job; the same client token again gives the same job."""
        return self.jobs.launch(workspace, gpu_type=gpu_type, client_token=client_token)

    def follow(self, job_id: str, *, after: int = 0) -> Iterator[Live]:
        """Every change of a job until it is over."""
        return self.jobs.follow(job_id, after=after)

    def cancel(self, job_id: str) -> Job:
        """Ask a job to stop."""
        return self.jobs.cancel(job_id)

    def download(self, job_id: str, to: Path, *, progress: Callable[[Progress], None] = lambda _: None) -> Path:
        """The trained model as a file, which appears only when it is whole; what an earlier attempt got is not fetched again."""
        jobs = JobsApi(self.transport.patient())
        return download(lambda: jobs.model(job_id), to, retries=self.transport.retries, progress=progress)

    def close(self) -> None:
        """Drop the connections."""
        self.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

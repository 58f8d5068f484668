"""A folder on disk → a workspace → a checked upload → a job → its model on disk."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from tutti_fl.board import Board
from tutti_fl.client import Client
from tutti_fl.errors import TuttiError
from tutti_fl.etags import is_same
from tutti_fl.folder import CLIENT_CONFIG, SERVER_CONFIG, SUFFIXES, Folder
from tutti_fl.launches import Launches, LaunchNote, content_of
from tutti_fl.memory import Memory, NoMemory
from tutti_fl.meter import Progress
from tutti_fl.naming import workspace_name
from tutti_fl.outcome import ExitCode, Outcome, exit_code_of_job
from tutti_fl.shapes.files import ObjectInfo
from tutti_fl.shapes.jobs import CANCELLED, FAILED, FINISHED, Job
from tutti_fl.shapes.workspaces import Report
from tutti_fl.words import counted
from tutti_fl.workspaces import Settings

MODEL = "GLOBAL_MODEL.pt"


class Teller(Protocol):
    """Tells a person what happens. Called from one thread at a time."""

    def step(self, sentence: str) -> None:
        """Something begins."""

    def note(self, sentence: str) -> None:
        """Something worth knowing."""

    def uploaded(self, progress: Progress) -> None:
        """So much of the upload is through; called often."""

    def board(self, board: Board) -> None:
        """The job has news; ``board.news`` holds the newest."""

    def downloaded(self, progress: Progress) -> None:
        """So much of the model is here; called often."""


@dataclass(frozen=True)
class Wish:
    """What to run, and how."""

    folder: Folder
    name: str
    """As typed; the platform's rule makes the workspace's name of it."""
    settings: Settings = field(default_factory=Settings)
    gpu_type: str | None = None
    """None: the cheapest free offer, if it costs nothing."""
    replace: bool = False
    """Overwrite what was edited in the workspace by hand, and remove its shards that the folder does not have."""
    out: Path | None = None
    """Where the model goes; None: ``model_out/GLOBAL_MODEL.pt`` in the folder."""


class JobRun:
    """One run of one folder. ``outcome`` is filled step by step, so it tells how far things went also when a step raises."""

    def __init__(self, client: Client, wish: Wish, teller: Teller, *, memory: Memory | None = None) -> None:
        self._client, self._wish, self._teller = client, wish, teller
        self._memory = memory or NoMemory()
        self._launches = Launches(self._memory, client.url)
        self.outcome = Outcome()

    def run(self) -> Outcome:
        """Everything, to the model on disk. Whatever the API refuses is raised as TuttiError."""
        if self.check().errors:
            return self.outcome
        self.launch()
        self.follow()
        return self.outcome

    def check(self) -> Report:
        """The workspace made and filled, and its report; without errors the exit code is FINISHED's."""
        self._check_settings()
        workspace, prefix = self._workspace()
        self.outcome.workspace = workspace
        self._upload(prefix)
        self._teller.step("Checking the workspace")
        began = time.monotonic()
        report = self._client.workspaces.check(workspace)
        self.outcome.seconds["validate"] = time.monotonic() - began
        self.outcome.report = report
        self.outcome.exit_code = ExitCode.REFUSED if report.errors else ExitCode.FINISHED
        return report

    def launch(self) -> Job:
        """The job: a new one, PENDING, or the one that an earlier run of the same content launched and did not see to its end."""
        workspace, content = self.outcome.workspace, self._content()
        note = self._launches.recall(workspace, content)
        if note is not None and self._wish.gpu_type in (None, note.gpu_type):
            job = self._launch(note)
            if job.state not in (FAILED, CANCELLED):
                self._teller.note(f"{job.id} was launched by an earlier run of this folder that broke off: going on with it")
                return job
            self._teller.note(f"{job.id}, launched by an earlier run that broke off, ended {job.state}: launching again")
        report = self.outcome.report
        gpu_type = self._wish.gpu_type or self._free_offer(report.workers if report else 1)
        self._teller.step(f"Launching {workspace} on {gpu_type}")
        return self._launch(self._launches.begin(workspace, content, gpu_type))

    def _launch(self, note: LaunchNote) -> Job:
        job = self._client.launch(self.outcome.workspace, gpu_type=note.gpu_type, client_token=note.client_token)
        self.outcome.job = job
        return job

    def follow(self) -> None:
        """To the end of the job, and its model to disk if it has one."""
        if self.outcome.job is None:
            raise TuttiError("usage", "there is no job to follow", "Launch it first.")
        board = follow_job(self._client, self.outcome.job.id, self._teller)
        job = self.outcome.job = board.job or self._client.jobs.get(self.outcome.job.id)
        self.outcome.rounds = self._client.jobs.rounds(job.id)
        self.outcome.seconds |= job_seconds(job, board)
        self.outcome.exit_code = exit_code_of_job(job)
        if job.state == FINISHED:
            to = self._wish.out or self._wish.folder.root / "model_out" / MODEL
            self.outcome.model_path = download_model(self._client, job, to, self._teller)
        self._launches.forget(self.outcome.workspace)

    def _content(self) -> str:
        """What would be launched now, told by the objects in the workspace's input folders."""
        prefix = f"jobs/{self.outcome.workspace}/"
        return content_of(item for folder in SUFFIXES for item in self._client.files.list(f"{prefix}{folder}/"))

    def _check_settings(self) -> None:
        """A setting that the folder's own config would silently beat is refused."""
        settings, files = self._wish.settings, self._wish.folder.files
        clash = (settings.parameters and CLIENT_CONFIG) or ((settings.federation or settings.arguments) and SERVER_CONFIG)
        if clash and clash in files:
            hint = f"Change it in {files[clash]}, or remove that file to have it generated."
            raise TuttiError("settings_conflict", f"the folder brings its own {clash}, so settings given here are lost", hint)

    def _workspace(self) -> tuple[str, str]:
        """Name and prefix of the workspace, with the generated files as the settings say."""
        wanted = workspace_name(self._wish.name)
        if wanted is None:
            raise TuttiError("usage", f"the name {self._wish.name!r} has no letter or digit", "Give another one with --name.")
        if self._client.account.me().bucket is None:
            self._teller.note(f"Made your bucket {self._client.account.create_bucket().name}")
        self._teller.step(f"Writing the workspace {wanted}")
        try:
            built = self._client.workspaces.create(wanted, self._wish.settings)
        except TuttiError as error:
            if error.code != "name_taken":
                raise
            self._rebuild(wanted)
            return wanted, f"jobs/{wanted}/"
        return built.name, built.prefix

    def _rebuild(self, name: str) -> None:
        """The generated files of a workspace that exists, as the settings of this run say."""
        try:
            before = self._client.workspaces.built(name)
        except TuttiError as error:
            if error.code != "workspace_not_found":
                raise
            self._teller.note(f"{name} was not made by the wizard: nothing is generated, its files are used as they are")
            return
        own = self._wish.folder.files
        edited = [file.path for file in before.files if file.edited and file.path not in own]
        if edited and not self._wish.replace:
            self._teller.note(f"kept as edited in the workspace (--replace writes them anew): {', '.join(edited)}")
        self._client.workspaces.rebuild(name, self._wish.settings, etag=before.etag, overwrite=self._wish.replace)

    def _upload(self, prefix: str) -> None:
        """What differs from the bucket goes up."""
        began = time.monotonic()
        there = {item.key: item for item in self._client.files.list(prefix)}
        self._remove_strays(prefix, there)
        sends = [s for s in self._wish.folder.sends(prefix) if s.key not in there or not is_same(s.path, there[s.key])]
        same = len(self._wish.folder.files) - len(sends)
        self._teller.step(f"Uploading {counted(len(sends), 'file')}" + (f" ({same} there already)" if same else ""))
        if sends:
            self._client.upload(sends, memory=self._memory, progress=self._teller.uploaded)
        self.outcome.seconds["upload"] = time.monotonic() - began

    def _remove_strays(self, prefix: str, there: Mapping[str, ObjectInfo]) -> None:
        """Shards of an earlier run would get workers of their own."""
        own = {prefix + path for path in self._wish.folder.shards}
        strays = [key for key in there if key.startswith(f"{prefix}shards/") and key.endswith(".zip") and key not in own]
        if not own or not strays:
            return
        names = ", ".join(key.removeprefix(prefix) for key in strays)
        if not self._wish.replace:
            hint = "Remove them with --replace, or use another workspace with --name."
            raise TuttiError("shards_differ", f"the workspace holds shards this folder does not have: {names}", hint)
        for start in range(0, len(strays), 1000):
            self._client.files.delete(strays[start : start + 1000])
        self._teller.note(f"Removed {names}")

    def _free_offer(self, workers: int) -> str:
        """The type to rent when none was named: only one that costs nothing is taken unasked."""
        offers = sorted(self._client.jobs.offers(), key=lambda offer: (offer.price_per_hour, -offer.free))
        gratis = next((offer for offer in offers if offer.price_per_hour == 0 and offer.free >= workers), None)
        if gratis is not None:
            return gratis.gpu_type
        said = "; ".join(f"{o.gpu_type} at {o.price_per_hour} an hour, {o.free} free" for o in offers) or "there are none"
        raise TuttiError("no_capacity", f"no offer without a price has {workers} free workers ({said})", "Choose one with --gpu.")


def follow_job(client: Client, job_id: str, teller: Teller) -> Board:
    """Everything that happened to the job, once it is over; told as it happens."""
    teller.step(f"Following {job_id}")
    board = Board()
    for live in client.follow(job_id):
        board.add(live)
        teller.board(board)
    return board


def download_model(client: Client, job: Job, to: Path, teller: Teller) -> Path:
    """The model as a file; a path that is a folder gets it under its own name."""
    to = to / MODEL if to.is_dir() else to
    teller.step(f"Downloading the model to {to}")
    return client.download(job.id, to, progress=teller.downloaded)


def job_seconds(job: Job, board: Board) -> dict[str, float | None]:
    """From the launch to the three moments one waits for, by the platform's own clock; None for one that never came."""
    moments: dict[str, datetime | None] = {
        "launch_to_running": job.running_at or board.running_at,
        "launch_to_first_step": board.first_step_at,
        "launch_to_finished": job.ended_at,
    }
    return {name: (at - job.created_at).total_seconds() if at else None for name, at in moments.items()}

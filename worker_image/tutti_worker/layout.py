"""Where everything lies inside the worker's own folder."""

import os
from dataclasses import dataclass
from pathlib import Path

_SHORT = 60
"""A socket's path may have 108 letters, and multiprocessing, which DataLoaders use, adds 32 of its own."""


def short_path(folder: Path) -> str:
    """The folder by a path that leaves room for the names of sockets, good while this process lives and stays where it is."""
    alias = Path(f"/proc/{os.getpid()}/cwd")
    if len(str(folder)) <= _SHORT or not alias.exists() or not folder.is_relative_to(Path.cwd()):
        return str(folder)
    return str(alias / folder.relative_to(Path.cwd()))


@dataclass(frozen=True)
class Layout:
    """The folders and files of one worker, all below the folder it was given."""

    work: Path

    @property
    def job(self) -> Path:
        """The unpacked launched copy."""
        return self.work / "job"

    @property
    def custom(self) -> Path:
        """The user's scripts in the launched copy."""
        return self.job / "app" / "custom"

    @property
    def data(self) -> Path:
        """The unpacked shard."""
        return self.work / "data"

    @property
    def checkpoint(self) -> Path:
        """The folder of the base checkpoint, when the job has one."""
        return self.work / "checkpoint"

    @property
    def overlay(self) -> Path:
        """Packages installed for this job only."""
        return self.work / "overlay"

    @property
    def kit(self) -> Path:
        """The startup kit, which is also NVFLARE's workspace."""
        return self.work / "kit"

    @property
    def out(self) -> Path:
        """The base of the training function's ``out_dir``; outside the dataset."""
        return self.work / "out"

    @property
    def model(self) -> Path:
        """The server's models: rounds/round_<n>.pt and GLOBAL_MODEL.pt."""
        return self.work / "model"

    @property
    def state(self) -> Path:
        """STATE_DIR of the training function: kept between rounds."""
        return self.work / "state"

    @property
    def cache(self) -> Path:
        """CACHE_DIR of the training function."""
        return self.work / "cache"

    @property
    def temporary(self) -> Path:
        """TMPDIR of everything this worker starts; gone at its exit."""
        return self.work / "tmp"

    @property
    def journal(self) -> Path:
        """The file in which NVFLARE's processes tell what happens."""
        return self.work / "journal.ndjson"

    @property
    def stop_flag(self) -> Path:
        """Exists once the server shall end after the round in progress."""
        return self.work / "stop_after_round"

    @property
    def submitted(self) -> Path:
        """Exists once the job was handed to NVFLARE; holds NVFLARE's own job id."""
        return self.work / "submitted"

    @property
    def ended(self) -> Path:
        """Exists once NVFLARE's parent process has seen the job's end; holds NVFLARE's own final status."""
        return self.work / "ended"

    @property
    def whereabouts(self) -> Path:
        """Where the job process writes its stacks, asked or crashing."""
        return self.work / "whereabouts"

    @property
    def job_left(self) -> Path:
        """Exists once NVFLARE's job process has come to the end of its own main function."""
        return self.work / "job_left"

    def make(self) -> None:
        """Make the folders a job writes into."""
        for folder in (self.out, self.model, self.state, self.cache, self.temporary, self.data):
            folder.mkdir(parents=True, exist_ok=True)

"""One worker: everything both roles work with, from the sign-in to the last log segment."""

import os
import queue
import shutil
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from chalicelib.contracts.job import Cause, Phase, ReasonCode
from chalicelib.contracts.worker import (
    Assignment,
    Command,
    EventAnswer,
    EventBatch,
    FailedEvent,
    LogSegmentEvent,
    PhaseEvent,
    Source,
    UrlKind,
    WarningEvent,
    WorkerEvent,
)
from tutti_worker.api import PlatformApi, Refused
from tutti_worker.downloads import Downloads
from tutti_worker.forked import Outputs
from tutti_worker.interrupts import Interrupts
from tutti_worker.journal_tail import JournalTail
from tutti_worker.layout import Layout, short_path
from tutti_worker.logs import LogBook, own_line
from tutti_worker.memory import OomCounter, oom_kills
from tutti_worker.messages import Ended, Start, Started
from tutti_worker.missing_module import with_advice
from tutti_worker.outbox import Outbox
from tutti_worker.outputs import Uploads
from tutti_worker.settings import Settings
from tutti_worker.trouble import Failure, Leave, Stopped, Superseded
from tutti_worker.warm_link import WarmLink, project_path, spawn_warm
from tutti_worker.whereabouts import WHEREABOUTS

Happening = Ended | FailedEvent | Started


class Worker:
    """The connections and threads of one worker. ``happenings`` brings what the main thread waits for."""

    def __init__(self, settings: Settings, warm: WarmLink, outputs: Outputs, read_ends: dict[str, int]) -> None:
        self.settings, self.warm, self.layout = settings, warm, Layout(settings.work)
        self.interrupts = Interrupts()
        self.happenings: queue.Queue[Happening] = queue.Queue()
        self.oom = OomCounter(oom_kills())
        self.failed: Cause | None = None
        self.path: list[str] = []
        self._outputs, self._read_ends = outputs, read_ends
        self._outputs_closed = False
        self.api = PlatformApi(settings.api, patience_s=settings.api_patience_s)
        self.uploads = Uploads(self.api, patience_s=settings.api_patience_s)
        self.downloads = Downloads(patience_s=settings.api_patience_s)
        self.on_journal: Callable[[WorkerEvent], None] = self.tell
        self.journal = JournalTail(self.layout.journal, self._from_journal)
        self.assignment: Assignment
        self.outbox: Outbox
        self.logs: LogBook

    def sign_in(self) -> None:
        """Exchange the code, read the assignment, and begin to talk."""
        self.api.sign_in(self.settings.code)
        self.assignment = self.api.assignment()
        self.outbox = Outbox(
            self._post,
            attempt=self.assignment.attempt,
            heartbeat_s=self.assignment.heartbeat_s,
            on_commands=self._obey,
            on_error=self.interrupts.leave,
        )
        self.outbox.start()
        self.logs = LogBook(self._ship_segment, secrets=(self.settings.code, *self.api.secrets()))
        self.logs.start()
        for title, descriptor in self._read_ends.items():
            self.logs.read(descriptor, title)
        self.warm.listen(self.happenings.put, self._warm_lost)
        self.phase(Phase.STARTING)

    def tell(self, *events: WorkerEvent) -> None:
        """Post events."""
        self.outbox.put(*events)

    def phase(self, phase: Phase, detail: str = "") -> None:
        """Post what this worker does now, and say it in the log."""
        self.say(f"{phase.value}{': ' if detail else ''}{detail}")
        self.tell(PhaseEvent(phase=phase, detail=detail))

    def say(self, text: str, level: str = "info") -> None:
        """A line of the supervisor's own in the log."""
        self.logs.add(own_line(f"tutti: {text}", level))

    def fetch(self, source: Source, kind: UrlKind, target: Path, on_bytes: Callable[[int], None] | None = None) -> Path:
        """Have one object of the assignment on disk."""
        self.downloads.fetch(
            source.url,
            target,
            size=source.size,
            fresh_url=lambda: self.api.url(kind).url,
            on_bytes=on_bytes or (lambda _: None),
        )
        return target

    def start(self, entry: str, argv: list[str], title: str, env: dict[str, str] | None = None) -> Start:
        """Run ``module:function`` in a fork of the warm process."""
        what = Start(uuid.uuid4().hex, entry, argv, {**self.environment(), **(env or {})}, self.path, title)
        self.warm.start(what)
        return what

    def environment(self) -> dict[str, str]:
        """What NVFLARE's processes and the user's code find in their environment."""
        layout = self.layout
        return {
            "TUTTI_JOURNAL": str(layout.journal),
            "TUTTI_DATA_ROOT": str(layout.data),
            "TUTTI_OUT_DIR": str(layout.out),
            "TUTTI_STATE_DIR": str(layout.state),
            "TUTTI_CACHE_DIR": str(layout.cache),
            "TUTTI_MODEL_DIR": str(layout.model),
            "TUTTI_MODEL_LIMIT": str(self.assignment.model_limit),
            "TUTTI_STOP_AFTER_ROUND": str(layout.stop_flag),
            "TUTTI_ENDED": str(layout.ended),
            "TUTTI_JOB_LEFT": str(layout.job_left),
            WHEREABOUTS: str(layout.whereabouts),
            "TUTTI_JOB_ID": self.assignment.job_id,
            "TUTTI_SITE": self.assignment.site,
            "TMPDIR": short_path(layout.temporary),
            "TORCHINDUCTOR_CACHE_DIR": str(layout.temporary / "torchinductor"),
            **({"OMP_NUM_THREADS": str(self.assignment.threads)} if self.assignment.threads else {}),
            "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": os.pathsep.join([*self.path, *project_path()]),
            "NVFLARE_DEAD_CLIENT_GRACE_PERIOD": "5",
            "NVFLARE_DEAD_CLIENT_CHECK_LEAD_TIME": "1",
            "NVFLARE_CLIENT_OUTCOME_WAIT_TIMEOUT": "15",
        }

    def use_overlay(self, *, fresh: bool) -> None:
        """Put the overlay in front of everything started from now on; ``fresh``: in a new interpreter."""
        self.path = [str(self.layout.overlay)]
        if fresh:
            self.warm.close()
            self.warm = spawn_warm(self._outputs, self.path, dict(os.environ))
            self.warm.listen(self.happenings.put, self._warm_lost)

    def next_happening(self, timeout_s: float | None = None) -> Happening | None:
        """The next thing that happened; None when nothing did in that time."""
        try:
            return self.happenings.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def warn(self, code: str, sentence: str) -> None:
        """Post something the user should know that ends nothing."""
        self.say(sentence, "warning")
        self.tell(WarningEvent(code=code, sentence=sentence[:1000]))

    def fail(self, cause: Cause) -> None:
        """Post that this worker cannot go on; only the first cause counts."""
        if self.failed is None:
            self.failed = cause = self._with_disk(with_advice(cause, self.layout.job))
            self.say(f"failed: {cause.sentence}", "error")
            self._show(cause)
            self.tell(FailedEvent(cause=cause))

    def _with_disk(self, cause: Cause) -> Cause:
        """Which disk is full, and how full: on a machine of one's own that is what one has to know."""
        if cause.code is not ReasonCode.DISK_FULL and "No space left on device" not in cause.sentence:
            return cause
        free = shutil.disk_usage(self.settings.work).free >> 20
        said = f"{cause.sentence.rstrip('.')} (it holds {self.settings.work}; {free} MB are free)"
        return cause.model_copy(update={"sentence": said[:1000]})

    def _show(self, cause: Cause) -> None:
        """The lines that show a failure belong into the log too, unless they are quoted from it."""
        there = {line[:500] for title in ("job", "nvflare") for line in self.logs.tail(title)}
        if not there.issuperset(cause.evidence):
            for line in cause.evidence:
                self.say(line, "error")

    def wait_for_file(self, path: Path, timeout_s: float) -> bool:
        """Wait until a file is there."""
        deadline = time.monotonic() + timeout_s
        while not path.exists():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def stop_federation(self) -> None:
        """Kill every process this worker started, then read what they left in the journal; may be called twice."""
        self.warm.close()
        self.journal.finish()

    def ship_logs(self, timeout_s: float) -> None:
        """Ship the rest of the logs; after the federation was stopped. May be called twice."""
        if not self._outputs_closed:
            self._outputs_closed = True
            for descriptor in {self._outputs.nvflare, self._outputs.job}:
                os.close(descriptor)
        self.logs.finish(timeout_s)

    def close(self) -> None:
        """Give everything back; the work folder stays, what was temporary in it goes."""
        self.outbox.close()
        for connection in (self.uploads, self.downloads, self.api):
            connection.close()
        self.forget_kits()
        for folder in (self.layout.temporary, self.layout.cache):
            shutil.rmtree(folder, ignore_errors=True)

    def forget_kits(self) -> None:
        """Remove every private key; after the federation was stopped."""
        for name in ("kits", "provision"):
            shutil.rmtree(self.settings.work / name, ignore_errors=True)
        shutil.rmtree(self.layout.kit, ignore_errors=True)
        (self.settings.work / "kit.zip").unlink(missing_ok=True)

    def stop_waiting(self) -> None:
        """From now on an unreachable platform is not waited for."""
        self.api.stop_waiting()
        self.uploads.stop_waiting()

    def _warm_lost(self) -> None:
        site, log = self.assignment.site, self.logs.tail("nvflare")
        cause = Cause(
            code=ReasonCode.OUT_OF_MEMORY if self.oom.has_grown() else ReasonCode.PROCESS_KILLED,
            sentence=f"the process that all others of {site} are forked from was killed.",
            site=site,
            evidence=tuple(log[-40:]),
        )
        self.interrupts.leave(Failure(cause))

    def _post(self, batch: EventBatch) -> EventAnswer:
        return self.api.post_events(batch)

    def _obey(self, commands: tuple[Command, ...]) -> None:
        if Command.STOP in commands:
            self.interrupts.leave(Stopped("the platform asked to stop"))
        elif Command.NEW_ATTEMPT in commands:
            self.interrupts.leave(Superseded("a new attempt begins"))
        elif Command.STOP_AFTER_ROUND in commands and not self.layout.stop_flag.exists():
            self.layout.stop_flag.touch()
            self.say("stopping after the round in progress")

    def _from_journal(self, event: WorkerEvent) -> None:
        if isinstance(event, FailedEvent):
            self.fail(event.cause)
            self.happenings.put(event)
            return
        self.on_journal(event)

    def _ship_segment(self, number: int, body: bytes, lines: int) -> None:
        self.uploads.put_bytes(body, UrlKind.LOG, str(number))
        self.tell(LogSegmentEvent(number=number, lines=lines, bytes=len(body)))


def unexpected(error: BaseException, site: str) -> Cause:
    """The cause for a fault of the worker's own."""
    if isinstance(error, OSError) and error.errno == 28:
        return Cause(code=ReasonCode.DISK_FULL, sentence="the worker's disk is full; choose a machine with more.", site=site)
    said = f"{type(error).__name__}: {error}"
    return Cause(code=ReasonCode.PLATFORM_ERROR, sentence=f"the worker failed: {said}"[:1000], site=site)


def within(action: Callable[[], None], timeout_s: float) -> bool:
    """Do something in a thread and wait for it no longer than that; False when it was not done or raised."""
    done = threading.Event()

    def run() -> None:
        try:
            action()
            done.set()
        except (Leave, Failure, Refused, OSError):
            return

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout_s)
    return done.is_set()

"""What a worker with a shard does, from its data to its outputs."""

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

from chalicelib.contracts.job import Phase, ReasonCode
from chalicelib.contracts.masking import mask
from chalicelib.contracts.worker import FinishedEvent, JoinedEvent, Source, StuckEvent, UrlKind, WorkerEvent
from tutti_worker import whereabouts
from tutti_worker.api import NotYet
from tutti_worker.archive import Limits, room, unpack
from tutti_worker.autopsy import how, of_training
from tutti_worker.launched_copy import server_config, training_timeout
from tutti_worker.memory import held_bytes
from tutti_worker.messages import Ended, Start, Started
from tutti_worker.preparation import fetch_job, finish_preflight, install_requirements, start_preflight
from tutti_worker.provision import aim_client
from tutti_worker.stillness import Stillness
from tutti_worker.trouble import Failure, failure
from tutti_worker.verdict import last_words
from tutti_worker.warm import FOR_TRAINING
from tutti_worker.warm_link import WarmLost
from tutti_worker.worker import Worker

_HEARTBEAT_S = 4
_KIT_POLL_S = 0.5
_REPORT_S = 3.0
_SIGN_OFF_S = 3.0
_MOST_WARNINGS = 20
_LOOK_S = 1.0
_KIT_LIMITS = Limits(total=64 << 20, entries=1000)


class ClientRole:
    """One run of a worker with a shard."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._over_limit: int | None = None
        self._job_pid = 0
        self._stillness = Stillness(worker.assignment.stuck_after_s)

    def run(self) -> None:
        """Prepare, join, train, hand the outputs over. Raises Failure."""
        worker = self._worker
        fetch_job(worker)
        self._fetch_shard()
        install_requirements(worker)
        trial = start_preflight(worker)
        finish_preflight(worker, trial)
        self._fetch_kit()
        self._take_part()
        self._hand_over()

    def ship(self) -> None:
        """Upload what the training function has left so far, and warn of what cannot be kept."""
        left_out: list[str] = []
        mask_error_file(self._worker.layout.out)
        try:
            self._worker.uploads.put_tree(self._worker.layout.out, left_out.append)
        finally:
            self._warn(left_out)

    def _warn(self, left_out: list[str]) -> None:
        for sentence in left_out[:_MOST_WARNINGS]:
            self._worker.warn("output_left_out", sentence)
        if len(left_out) > _MOST_WARNINGS:
            self._worker.warn("output_left_out", f"{len(left_out) - _MOST_WARNINGS} more files in out_dir were left out.")

    def _fetch_shard(self) -> None:
        worker, source = self._worker, self._worker.assignment.shard
        if source is None:
            raise failure(ReasonCode.PLATFORM_ERROR, "the assignment names no shard.")
        name = source.name or "shard.zip"
        worker.phase(Phase.DOWNLOADING, name)
        packed = worker.settings.work / "incoming" / Path(name).name
        packed.parent.mkdir(exist_ok=True)
        worker.fetch(source, UrlKind.SHARD, packed, _Reporter(worker, source).heard)
        worker.phase(Phase.DOWNLOADING, f"unpacking {name}")
        unpack(packed, worker.layout.data, room(worker.layout.data), root=worker.assignment.shard_root)
        packed.unlink()

    def _fetch_kit(self) -> None:
        worker = self._worker
        packed = worker.settings.work / "kit.zip"
        url = self._kit_url()
        worker.downloads.fetch(url, packed, size=None, fresh_url=self._kit_url)
        unpack(packed, worker.layout.kit, _KIT_LIMITS)
        packed.unlink()
        (worker.layout.kit / "transfer").mkdir(exist_ok=True)
        if worker.assignment.server_address:
            aim_client(worker.layout.kit, worker.assignment.server_address)

    def _kit_url(self) -> str:
        waiting = False
        while True:
            try:
                return self._worker.api.kit_url().url
            except NotYet:
                if not waiting:
                    self._worker.phase(Phase.WAITING, "for the server's kit")
                    waiting = True
                time.sleep(_KIT_POLL_S)

    def _take_part(self) -> None:
        worker = self._worker
        worker.on_journal = self._hear
        self._stillness = Stillness(self._patience_s())
        arguments = client_arguments(worker.layout.kit, worker.assignment.site)
        parent = worker.start("tutti_worker.flare:client", arguments, "nvflare")
        worker.warm.preload(*FOR_TRAINING)
        worker.journal.start()
        if worker.assignment.memory_limit:
            threading.Thread(target=self._watch_memory, name="memory", daemon=True).start()
        threading.Thread(target=self._watch_progress, name="progress", daemon=True).start()
        self._await_end(parent)

    def _hear(self, event: WorkerEvent) -> None:
        self._stillness.hear(event)
        self._worker.tell(event)
        if isinstance(event, JoinedEvent):
            self._worker.phase(Phase.JOINED)

    def _await_end(self, parent: Start) -> None:
        worker = self._worker
        while True:
            happened = worker.next_happening()
            if isinstance(happened, Started) and happened.title == "job":
                self._job_pid = happened.pid
            if isinstance(happened, Ended) and happened.title == "job":
                worker.journal.read_on()
                if happened.asked or (happened.status == 0 and worker.layout.job_left.exists()):
                    return
                self._await_parent(parent)
                raise self._job_died(happened)
            if isinstance(happened, Ended) and happened.id == parent.id:
                worker.journal.read_on()
                raise self._parent_left(happened)

    def _await_parent(self, parent: Start) -> None:
        """The launcher in NVFLARE's parent signs the client off and leaves; that it never reports a failed job is
        certain once it is dead."""
        try:
            self._worker.warm.wait(parent, _SIGN_OFF_S)
        except (TimeoutError, WarmLost):
            self._worker.say("NVFLARE's parent did not sign off in time", "warning")
        self._worker.warm.close()

    def _job_died(self, ended: Ended) -> Failure:
        return Failure(self._worker.failed or of_training(self._worker, ended, self._over_limit))

    def _parent_left(self, ended: Ended) -> Failure:
        worker, site = self._worker, self._worker.assignment.site
        if worker.failed is not None:
            return Failure(worker.failed)
        if ended.status < 0:
            sentence = f"NVFLARE's client process of {site} was ended by {how(ended.status)}."
            return Failure(last_words(worker.logs.tail("nvflare"), sentence, ReasonCode.PROCESS_KILLED, site))
        sentence = f"{site} lost the central server ({how(ended.status)})."
        return Failure(last_words(worker.logs.tail("nvflare"), sentence, ReasonCode.SERVER_LOST, site))

    def _watch_memory(self) -> None:
        worker, limit = self._worker, self._worker.assignment.memory_limit or 0
        while worker.failed is None:
            held = held_bytes(worker.warm.pid)
            if held > limit and self._job_pid:
                self._over_limit = held
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._job_pid, signal.SIGKILL)
                return
            time.sleep(1.0)

    def _watch_progress(self) -> None:
        worker = self._worker
        while worker.failed is None:
            quiet_s = self._stillness.look(worker.logs.tail("job"))
            if quiet_s:
                self._tell_stuck(quiet_s)
            elif quiet_s is not None:
                worker.say("training moves again")
                worker.tell(StuckEvent(quiet_s=None))
            time.sleep(_LOOK_S)

    def _patience_s(self) -> float:
        """Half the training timeout at most: whoever reads why a round timed out shall read where it hung."""
        patience, limit = self._worker.assignment.stuck_after_s, training_timeout(server_config(self._worker.layout.job))
        return min(patience, limit / 2) if limit > 0 else patience

    def _tell_stuck(self, quiet_s: float) -> None:
        worker = self._worker
        place = whereabouts.ask(self._job_pid, worker.layout.whereabouts) if self._job_pid else None
        sentence = f"{worker.assignment.site} has shown no progress for {quiet_s:.0f} s"
        sentence += f"; it is in {place}." if place else "."
        for line in (sentence, *(place.stack if place else ())):
            worker.say(line, "warning")
        where = {"file": place.file, "line": place.line, "evidence": place.stack} if place else {}
        worker.tell(StuckEvent.model_validate({"quiet_s": quiet_s, "sentence": sentence, **where}))

    def _hand_over(self) -> None:
        worker = self._worker
        worker.wait_for_file(worker.layout.ended, _REPORT_S)
        worker.stop_federation()
        worker.phase(Phase.UPLOADING, "outputs")
        self.ship()
        worker.ship_logs(10.0)
        worker.phase(Phase.DONE)
        worker.tell(FinishedEvent())


class _Reporter:
    """Tells how far a download is, once a second at most."""

    def __init__(self, worker: Worker, source: Source) -> None:
        self._worker, self._source = worker, source
        self._next = time.monotonic() + 1.0

    def heard(self, done: int) -> None:
        """``done`` bytes are there."""
        if time.monotonic() < self._next or not self._source.size:
            return
        self._next = time.monotonic() + 1.0
        share = 100 * done // self._source.size
        self._worker.phase(Phase.DOWNLOADING, f"{self._source.name or 'shard'} {share} %")


def mask_error_file(out_dir: Path) -> None:
    """The executor, which knows nothing of the platform, leaves the error of its last round there word for word."""
    file = out_dir / "error.json"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = file.read_text(encoding="utf-8")
        if text != (masked := mask(text)):
            file.write_text(masked, encoding="utf-8")


def client_arguments(kit: Path, site: str) -> list[str]:
    """The command line of NVFLARE's client main program."""
    options = ["secure_train=true", f"uid={site}", "org=tutti", "config_folder=config"]
    return ["-m", str(kit), "-s", "fed_client.json", "--set", *options, f"heart_beat_interval={_HEARTBEAT_S}"]

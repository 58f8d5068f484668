"""What the central server of a job does, from its kits to the uploaded model."""

from pathlib import Path

from chalicelib.contracts.job import Cause, Phase, ReasonCode
from chalicelib.contracts.worker import (
    FinishedEvent,
    RoundDoneEvent,
    UrlKind,
    WorkerEvent,
)
from tutti_worker.autopsy import of_process
from tutti_worker.launched_copy import localize_server_config
from tutti_worker.memory import said_so
from tutti_worker.messages import Ended, Start
from tutti_worker.preflight import read_cause
from tutti_worker.preparation import fetch_job, finish_preflight, install_requirements, start_preflight
from tutti_worker.provision import free_port
from tutti_worker.round_models import RoundModels
from tutti_worker.trouble import Failure, failure
from tutti_worker.verdict import judge, last_words
from tutti_worker.worker import Worker

_PROVISION_TIMEOUT_S = 600.0
_CLIENTS_LEAVE_S = 8.0
_AFTER_FAILURE_S = 5.0
SITE = "server"


class ServerRole:
    """One run of the central server."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._rounds: list[RoundDoneEvent] = []
        self._models = RoundModels(worker.layout.model / "rounds", self._put_round, worker.warn)

    def run(self) -> None:
        """Prepare, serve the federation, judge it, hand the model over. Raises Failure."""
        worker = self._worker
        fetch_job(worker)
        install_requirements(worker)
        port = worker.settings.port or free_port(worker.settings.host)
        kits = self._start_provision(port)
        trial = start_preflight(worker)
        self._fetch_checkpoint()
        finish_preflight(worker, trial)
        self._finish_provision(kits)
        self._serve()
        self._hand_over()

    def ship(self) -> None:
        """Upload the models of the rounds that are not there yet."""
        self._models.finish()

    def _fetch_checkpoint(self) -> None:
        worker, source = self._worker, self._worker.assignment.checkpoint
        if source is None:
            return
        worker.phase(Phase.DOWNLOADING, "the base checkpoint")
        # Under its own name: that is what a user reads when it does not fit.
        checkpoint = worker.layout.checkpoint / Path(source.name or "checkpoint.pt").name
        checkpoint.parent.mkdir(exist_ok=True)
        worker.fetch(source, UrlKind.CHECKPOINT, checkpoint)
        config = worker.layout.job / "app" / "config" / "config_fed_server.json"
        localize_server_config(config, checkpoint)

    def _start_provision(self, port: int) -> Start:
        worker, layout = self._worker, self._worker.layout
        place = [str(worker.settings.work), worker.settings.host, str(port), str(layout.job), str(layout.kit)]
        return worker.start("tutti_worker.provision:main", [*place, *worker.assignment.sites], "provision")

    def _finish_provision(self, started: Start) -> None:
        if self._worker.warm.wait(started, _PROVISION_TIMEOUT_S) != 0:
            raise failure(
                ReasonCode.PLATFORM_ERROR,
                "the startup kits could not be made.",
                evidence=tuple(self._worker.logs.tail("nvflare")[-40:]),
            )

    def _serve(self) -> None:
        worker = self._worker
        worker.on_journal = self._hear
        started = worker.start("tutti_worker.flare:server", server_arguments(worker.layout.kit), "nvflare")
        kits = [(worker.settings.work / "kits" / f"{site}.zip", site) for site in worker.assignment.sites]
        worker.uploads.put_files(kits, UrlKind.KIT_PUT)
        # Only now may "joined" of the journal reach the platform: listening, and every kit is there.
        worker.journal.start()
        self._models.start()
        self._await_end(started)

    def _await_end(self, parent: Start) -> None:
        worker = self._worker
        while True:
            happened = worker.next_happening()
            if isinstance(happened, Ended) and happened.title == "job":
                worker.journal.read_on()
                self._check_job_end(happened)
                return
            if isinstance(happened, Ended) and happened.id == parent.id:
                worker.journal.read_on()
                raise self._left("NVFLARE's server process", happened)
            if worker.failed is not None:
                self._await_job_end()
                raise Failure(worker.failed)

    def _await_job_end(self) -> None:
        """After a failure: leave the clients the time to hear of it."""
        while (happened := self._worker.next_happening(_AFTER_FAILURE_S)) is not None:
            if isinstance(happened, Ended) and happened.title == "job":
                return

    def _check_job_end(self, ended: Ended) -> None:
        if self._worker.failed is not None:
            raise Failure(self._worker.failed)
        if ended.status < 0:
            raise self._left("the server's job process", ended)

    def _left(self, what: str, ended: Ended) -> Failure:
        worker = self._worker
        if worker.failed is not None:
            return Failure(worker.failed)
        log = worker.logs.tail("job") + worker.logs.tail("nvflare")
        if self._worker.oom.has_grown() or said_so(log):
            return Failure(last_words(log, f"{what} ran out of memory.", ReasonCode.OUT_OF_MEMORY, SITE))
        return Failure(of_process(worker, ended, what, SITE))

    def _put_round(self, path: Path, number: int) -> None:
        self._worker.uploads.put_file(path, UrlKind.ROUND, str(number))

    def _hear(self, event: WorkerEvent) -> None:
        if isinstance(event, RoundDoneEvent):
            self._rounds.append(event)
            self._models.add(event.round)
        self._worker.tell(event)

    def _hand_over(self) -> None:
        worker = self._worker
        model = worker.layout.model / "GLOBAL_MODEL.pt"
        done = self._judged()
        self._check_model(model)
        worker.phase(Phase.UPLOADING, "the model")
        self._models.finish()
        size = worker.uploads.put_file(model, UrlKind.MODEL)
        best = worker.layout.model / "BEST_MODEL.pt"
        if best.is_file():
            worker.uploads.put_file(best, UrlKind.BEST)
        worker.wait_for_file(worker.layout.ended, _CLIENTS_LEAVE_S)
        worker.stop_federation()
        worker.ship_logs(10.0)
        worker.tell(FinishedEvent(model_size=size, rounds=len(done)))

    def _judged(self) -> list[int]:
        worker, asked = self._worker, self._worker.assignment
        rounds = list(range(asked.start_round, asked.rounds))
        stopped = worker.layout.stop_flag.exists()
        try:
            return judge(self._rounds, rounds=rounds, minimum=asked.minimum, stopped_early=stopped)
        except Failure as found:
            raise Failure(self._explained(found.cause)) from found

    def _explained(self, cause: Cause) -> Cause:
        if cause.code is not ReasonCode.PLATFORM_ERROR:
            return cause
        log = self._worker.logs.tail("job")
        code = ReasonCode.CONFIG_INVALID if any("ConfigError" in line for line in log) else cause.code
        return cause.model_copy(update={"code": code, "site": SITE, "evidence": tuple(log[-40:])})

    def _check_model(self, model: Path) -> None:
        worker, result = self._worker, self._worker.settings.work / "verdict.json"
        started = worker.start("tutti_worker.verdict:check_model", [str(model), str(result)], "verdict")
        status = worker.warm.wait(started, 600.0)
        cause = read_cause(result)
        if cause is not None or status != 0:
            raise Failure(cause or Cause(code=ReasonCode.MODEL_INVALID, sentence="the model could not be checked."))


def server_arguments(kit: Path) -> list[str]:
    """The command line of NVFLARE's server main program."""
    return ["-m", str(kit), "-s", "fed_server.json", "--set", "secure_train=true", "org=tutti", "config_folder=config"]

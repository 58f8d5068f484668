"""A platform that can be killed after any write and started again over what it wrote, while its workers live on.

Real are the services, the doors of the state machine and of the clock, the interpreter, and the records in SQLite; in memory are
the bucket, the workers and the time. All of it runs in one thread, so that a life is the same each time.
"""

import copy
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from chalicelib import bootstrap
from chalicelib.contracts.account import Principal
from chalicelib.contracts.job import Job, LaunchRequest
from chalicelib.domain.errors import FLError
from chalicelib.entrypoints.events import after_a_break, look_around
from chalicelib.ports import Workflow
from chalicelib.services import jobs as users_jobs
from chalicelib.services import launch
from local_stack.functions import invoke, report_exit
from local_stack.state_machine import Operations, Refused
from local_stack.state_machine.engine import called
from local_stack.state_machine.faults import Fault
from local_stack.state_machine.interpreter import Interpreter
from local_stack.state_machine.limits import Limits
from local_stack.state_machine.walk import Launch, Walker
from local_stack.training_job import ARN, NAME, definition
from tests.fakes import MemoryClock, MemoryObjectStore
from tests.whole.agents import SITES, Script, Workers, good
from tests.whole.fuse import Fuse, FusedRecords, FusedStates, Killed, fused
from tests.world import installation, world

ADA = Principal(user="sub-ada", name="ada")
WISH = LaunchRequest(workspace="digits", client_token="token-0001")
_MOST_TURNS = 300


class DirectWorkflow:
    """Workflow over the interpreter's operations, without the protocol between."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    def start(self, job_id: str) -> None:
        _silently(lambda: self._operations.start_execution(ARN, job_id, json.dumps({"job_id": job_id})))

    def succeed(self, token: str) -> None:
        _silently(lambda: self._operations.succeed(token, "{}"))

    def fail(self, token: str, *, error: str, cause: str) -> None:
        _silently(lambda: self._operations.fail(token, error, cause))

    def heartbeat(self, token: str) -> None:
        _silently(lambda: self._operations.heartbeat(token))

    def status(self, job_id: str) -> str | None:
        try:
            return self._operations.execution(f"{ARN.replace(':stateMachine:', ':execution:')}:{job_id}").status
        except Refused:
            return None


def _silently(act: Callable[[], object]) -> None:
    try:
        act()
    except Refused as refused:
        if refused.code not in ("ExecutionAlreadyExists", "TaskTimedOut", "TaskDoesNotExist", "InvalidToken"):
            raise


class Life:
    """One job's life on a platform that may be killed; ``fuse`` says when, and restarts leave the platform whole."""

    away_s = 0.0
    """How long it takes until somebody starts the platform again."""

    def __init__(self, folder: Path, objects: MemoryObjectStore, script: Script, *, cancels: bool = False) -> None:
        self.folder = folder
        self.objects = objects
        self.workers = Workers(script, objects)
        self.clock = MemoryClock(datetime.now(UTC))
        self.job_id: str | None = None
        self.kills: list[str] = []
        self.without_lease = 0
        self._wants_to_cancel = cancels

    def up(self, fuse: Fuse, *, lost_answers: bool = False) -> None:
        """Start the platform over what an earlier one wrote. With lost answers the fuse sits on the ports, not on the files."""
        on_files, on_ports = (Fuse(), fuse) if lost_answers else (fuse, Fuse())
        self.records = FusedRecords(self.folder / "records.db", on_files)
        self.states = FusedStates(self.folder / "states.db", on_files)
        with self.states.transaction():
            self.states.relaunch()
            self.states.hear_again_until(self._now() + 120)
        walker = Walker(self.states, Limits(), self._now, lambda: 0.5)
        self.interpreter = Interpreter(self.states, walker, self._now, Limits().events)
        self.operations = Operations(self.interpreter, Limits(), self._now, lambda: None)
        self.operations.install(NAME, definition())
        self.app = self._app(DirectWorkflow(self.operations), fuse, on_ports)
        bootstrap.install(self.app)
        self._since = self.clock.now()
        after_a_break(self.app)

    def _app(self, workflow: Workflow, fuse: Fuse, on_ports: Fuse) -> bootstrap.App:
        objects = fused(self.objects, fuse, "put", "copy", "delete", "delete_prefix")
        compute = fused(self.workers, fuse, "start", "stop")
        app = installation(self.records, objects, compute, workflow, self.clock)
        ports = {
            "jobs": fused(app.jobs, on_ports, "add", "commit", "touch"),
            "accounts": fused(app.accounts, on_ports, "add_worker_code", "redeem_code", "revoke_workers"),
            "fleet": fused(app.fleet, on_ports, "reserve", "release"),
            "workflow": fused(workflow, on_ports, "start", "succeed", "fail", "heartbeat"),
        }
        return bootstrap.App(**{**vars(app), **ports})

    def down(self) -> None:
        """The process is gone; what was written stays."""
        self.records.close()
        self.states.close()

    def live(self, fuse: Fuse, *, lost_answers: bool = False, next_fuse: Callable[[], Fuse] = Fuse) -> None:
        """From the launch to the end, started again after every kill."""
        self._up_at_last(fuse, lost_answers, next_fuse)
        for _ in range(_MOST_TURNS):
            try:
                self._turn()
            except Killed as killed:
                self._killed(killed)
                self._up_at_last(next_fuse(), lost_answers, next_fuse)
            if self.is_over():
                break
        for _ in range(3):
            with suppress(Killed):
                self._turn()

    def _up_at_last(self, fuse: Fuse, lost_answers: bool, next_fuse: Callable[[], Fuse]) -> None:
        while True:
            try:
                return self.up(fuse, lost_answers=lost_answers)
            except Killed as killed:
                self._killed(killed)
                fuse = next_fuse()

    def _killed(self, killed: Killed) -> None:
        self.kills.append(str(killed))
        self.down()
        self.clock.pause(self.away_s)

    def is_over(self) -> bool:
        """Whether nothing is left to happen."""
        if self.job_id is None or self.workers.alive or self.workers.exits:
            return False
        running = self.operations.executions(ARN, "RUNNING")
        return self.app.jobs.get(self.job_id).state.ended and not running

    def job(self) -> Job:
        """The job as it is."""
        assert self.job_id is not None, "it was never launched"
        return self.app.jobs.get(self.job_id)

    def _turn(self) -> None:
        self.ask()
        for step in list(self.interpreter.turn()):
            self._call(step)
        self.workers.live(self.app)
        self._report_exits()
        look_around(self.app, self._since)
        if self.job_id and self.workers.alive and len(self.app.fleet.leases(self.job_id)) != len(SITES) - 1:
            self.without_lease += 1
        self.clock.pause(1)

    def ask(self) -> None:
        """The user asks, and asks again until there is an answer, as the client does."""
        app = self.app
        with suppress(FLError):
            if self.job_id is None:
                self.job_id = launch.launch_job(
                    WISH, ADA, jobs=app.jobs, objects=app.objects, accounts=app.accounts, reports=app.reports, fleet=app.fleet,
                    workflow=app.workflow, clock=app.clock, ids=app.ids, settings=app.settings,
                ).id  # fmt: skip
            elif self._wants_to_cancel and self.job().rounds_done:
                users_jobs.cancel(ADA, self.job_id, jobs=app.jobs, workflow=app.workflow, clock=app.clock, ids=app.ids)
                self._wants_to_cancel = False

    def _call(self, step: Launch) -> None:
        outcome = called(invoke, step)
        if isinstance(outcome, Fault):
            self.interpreter.fail(step.token, outcome)
        else:
            self.interpreter.answer(step, outcome[0])

    def _report_exits(self) -> None:
        with suppress(FLError):
            while self.workers.exits:
                report_exit(self.workers.exits[0])
                self.workers.exits.pop(0)

    def _now(self) -> float:
        return self.clock.now().timestamp()


class Lives:
    """Makes lives that begin at the same moment: with a workspace ready to launch, or with the job just launched."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        with world(self._folder_of("ready")) as made:
            made.workspace()
            self._ready = made.objects
        launched = Life(self._copied("ready", "launched"), copy.deepcopy(self._ready), good)
        launched.up(Fuse())
        launched.ask()
        launched.down()
        self._launched = launched

    def life(self, script: Script = good, *, cancels: bool = False, launched: bool = False) -> Life:
        """A life that has not begun, or is at its launch."""
        self._count += 1
        if not launched:
            return Life(self._copied("ready", str(self._count)), copy.deepcopy(self._ready), script, cancels=cancels)
        begun = Life(self._copied("launched", str(self._count)), copy.deepcopy(self._launched.objects), script, cancels=cancels)
        begun.job_id = self._launched.job_id
        return begun

    def bury(self, life: Life) -> None:
        """Delete what it wrote."""
        life.down()
        shutil.rmtree(life.folder)

    def _folder_of(self, name: str) -> Path:
        place = self._folder / name
        place.mkdir()
        return place

    def _copied(self, name: str, to: str) -> Path:
        return Path(shutil.copytree(self._folder / name, self._folder / to))

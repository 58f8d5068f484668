"""Workers without processes: each says its words to the platform, one call at a time, until every word is stored."""

from collections.abc import Callable
from dataclasses import dataclass

from chalicelib import bootstrap
from chalicelib.contracts.account import WorkerPrincipal
from chalicelib.contracts.job import SERVER, Cause, ReasonCode
from chalicelib.contracts.worker import (
    EventBatch,
    FailedEvent,
    FinishedEvent,
    JoinedEvent,
    RoundDoneEvent,
    RoundStartedEvent,
    SiteResult,
    TokenRequest,
    WorkerEvent,
)
from chalicelib.domain import object_keys
from chalicelib.domain.errors import FLError, NotSignedIn
from chalicelib.ports import WorkerExit, WorkerSpec
from chalicelib.services import progress, worker
from tests.fakes import MemoryObjectStore
from tests.world import SETTINGS, MemoryCompute

SITES = (SERVER, "site-1", "site-2", "site-3")
ROUNDS = 5
MODEL = b"model"
_PORTION = 4

Script = Callable[[str], list[WorkerEvent]]


@dataclass
class Agent:
    """One worker: it redeems its code, says its words in order until each is stored, and leaves."""

    spec: WorkerSpec
    words: list[WorkerEvent]
    principal: WorkerPrincipal | None = None
    stored: int = 0

    @property
    def is_done(self) -> bool:
        """Whether all its words are stored."""
        return self.stored == len(self.words)

    def live(self, app: bootstrap.App) -> bool:
        """One call to the platform; False when the worker leaves after it."""
        try:
            if self.principal is None:
                self.principal = self._sign_in(app)
                return True
            return self._speak(self.principal, app) and not self.is_done
        except NotSignedIn:
            return False

    def _sign_in(self, app: bootstrap.App) -> WorkerPrincipal:
        wish = TokenRequest(code=self.spec.code, nonce=f"{self.spec.site:n<16}")
        token = worker.redeem_code(wish, accounts=app.accounts, jobs=app.jobs, ids=app.ids).token
        return worker.worker_of_token(token, accounts=app.accounts)

    def _speak(self, principal: WorkerPrincipal, app: bootstrap.App) -> bool:
        said = self.words[self.stored : self.stored + (_PORTION if self.stored else 1)]
        batch = EventBatch(attempt=1, seq=self.stored + 1, events=tuple(said))
        answer = progress.take_events(
            batch, principal, jobs=app.jobs, workflow=app.workflow, clock=app.clock, ids=app.ids, settings=app.settings
        )
        self.stored = answer.accepted_seq
        return not answer.commands


class Workers(MemoryCompute):
    """The machine under the platform: it and its processes live through every kill."""

    def __init__(self, script: Script, objects: MemoryObjectStore) -> None:
        super().__init__()
        self.agents: dict[str, Agent] = {}
        self.exits: list[WorkerExit] = []
        self._script, self._objects = script, objects

    def start(self, spec: WorkerSpec) -> str:
        """Start the worker, unless it runs or has run."""
        handle = super().start(spec)
        self.agents.setdefault(handle, Agent(spec, self._script(spec.site)))
        return handle

    @property
    def alive(self) -> list[str]:
        """Who has not left."""
        return [handle for handle in self.agents if handle not in self.left]

    def live(self, app: bootstrap.App) -> None:
        """Everybody does one thing."""
        for handle in self.alive:
            agent = self.agents[handle]
            if handle in self.stopped or (not self._waits(agent) and not self._one_thing(agent, app)):
                self.left.add(handle)
                self.exits.append(WorkerExit(agent.spec.job_id, 1, agent.spec.site, 0))

    def _one_thing(self, agent: Agent, app: bootstrap.App) -> bool:
        """What a worker puts into the bucket is there before it speaks of it."""
        job_id, site = agent.spec.job_id, agent.spec.site
        if agent.stored == 0:
            self._objects.put(SETTINGS.platform_bucket, object_keys.kit(job_id, 1, site), b"kit")
        if site == SERVER and agent.stored + _PORTION >= len(agent.words):
            self._objects.put(app.jobs.get(job_id).bucket, object_keys.job_model("digits", job_id), MODEL)
        try:
            return agent.live(app)
        except FLError:
            return True  # later again

    def _waits(self, agent: Agent) -> bool:
        """A federation goes on when everybody has joined, and a worker leaves it when its server has."""
        server = next(one for one in self.agents.values() if one.spec.site == SERVER)
        together = len(self.agents) == len(SITES) and all(one.stored for one in self.agents.values())
        return agent.stored == 1 and (not together or (agent is not server and not server.is_done and not _fails(agent)))


def _fails(agent: Agent) -> bool:
    return isinstance(agent.words[-1], FailedEvent)


def good(site: str) -> list[WorkerEvent]:
    """What the workers of a job that goes well have to say."""
    if site != SERVER:
        return [JoinedEvent(), FinishedEvent()]
    accepted = {one: SiteResult(accepted=True, samples=10) for one in SITES[1:]}
    rounds = [(RoundStartedEvent(round=n), RoundDoneEvent(round=n, sites=accepted)) for n in range(ROUNDS)]
    return [JoinedEvent(address="127.0.0.1:9"), *(e for pair in rounds for e in pair), FinishedEvent(model_size=len(MODEL))]


def failing(site: str) -> list[WorkerEvent]:
    """What they have to say when two of three raise in the first round."""
    cause = Cause(code=ReasonCode.TRAINING_RAISED, sentence=f"{site} raised")
    return [JoinedEvent(), FailedEvent(cause=cause)] if site in ("site-1", "site-2") else good(site)

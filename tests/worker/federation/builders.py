"""A server's side of a round without NVFLARE's processes: updates arrive, the guard and the average see them."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from nvflare.apis.dxo import DXO, DataKind, MetaKey
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import FLContextKey, ReservedKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.app_common.abstract.model import make_model_learnable
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.app_event_type import AppEventType
from tutti_worker.federation.averaging import OrderedAverage
from tutti_worker.federation.guard import UpdateGuard
from tutti_worker.federation.journal import read_events

from chalicelib.contracts.worker import WorkerEvent
from tests.job_scripts.builders import Engine, context

Arrays = dict[str, Any]


def arrays(**values: Any) -> Arrays:
    """float32 arrays by name."""
    return {name.replace("__", "."): np.asarray(value, np.float32) for name, value in values.items()}


class OnDisk:
    """A tensor as NVFLARE leaves it on the disk: loaded when asked for."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor

    def materialize(self) -> torch.Tensor:
        return self._tensor


def update(site: str, weights: Arrays, samples: Any = 1, *, kind: str = DataKind.WEIGHTS, round: int = 0) -> Shareable:
    """A site's answer to a train task as it reaches the server."""
    meta = {} if samples is None else {MetaKey.NUM_STEPS_CURRENT_ROUND: samples}
    shareable = DXO(kind, data=weights, meta=meta).to_shareable()
    return _from(site, shareable, round)


def failure(site: str, error: dict[str, Any] | None, *, round: int = 0) -> Shareable:
    """A site's answer when its training failed; without an error, as another executor would answer."""
    reply = make_reply(ReturnCode.EXECUTION_EXCEPTION)
    if error:
        reply.set_header("tutti_error", error)
    return _from(site, reply, round)


def _from(site: str, shareable: Shareable, round: int) -> Shareable:
    shareable.set_peer_props({ReservedKey.IDENTITY_NAME: site})
    shareable.add_cookie(AppConstants.CONTRIBUTION_ROUND, round)
    return shareable


class Server:
    """A guard and an aggregator that hear what NVFLARE's server would tell them."""

    def __init__(self, folder: Path, model: Arrays, *, minimum: int = 1, sites: int = 3, **average: Any) -> None:
        self.engine = Engine(folder / "run", tuple(f"site-{n + 1}" for n in range(sites)))
        self.journal = folder / "journal"
        self.guard = UpdateGuard(minimum)
        self.average = OrderedAverage(**{"expected_data_kind": DataKind.WEIGHTS, **average})
        self.engine.listeners = [self.average, self.guard]
        self.fl_ctx: FLContext = context(self.engine, "server")
        self.hold(model)
        self.tell(AppEventType.INITIAL_MODEL_LOADED)

    def hold(self, model: Arrays, meta: dict[str, Any] | None = None) -> None:
        """Make this the global model."""
        self.fl_ctx.set_prop(AppConstants.GLOBAL_MODEL, make_model_learnable(model, meta or {}), private=True)

    def tell(self, event: str, **props: Any) -> None:
        """Let the guard hear an event."""
        for name, value in props.items():
            self.fl_ctx.set_prop(name, value, private=True, sticky=False)
        self.guard.handle_event(event, self.fl_ctx)

    def start(self, round: int = 0) -> None:
        """Begin a round."""
        self.fl_ctx.set_prop(AppConstants.CURRENT_ROUND, round, private=True)
        self.tell(AppEventType.ROUND_STARTED)

    def arrive(self, answer: Shareable) -> bool:
        """True when the answer is averaged."""
        peer = context(self.engine, answer.get_peer_prop(ReservedKey.IDENTITY_NAME, "?"))
        self.fl_ctx.set_peer_context(peer)
        self.fl_ctx.set_prop(FLContextKey.TASK_NAME, "train", private=True, sticky=False)
        self.fl_ctx.set_prop(FLContextKey.TASK_RESULT, answer, private=True, sticky=False)
        self.guard.handle_event(EventType.BEFORE_PROCESS_SUBMISSION, self.fl_ctx)
        if answer.get_return_code(ReturnCode.OK) != ReturnCode.OK:
            return False
        accepted = bool(self.average.accept(answer, self.fl_ctx))
        self.tell(AppEventType.AFTER_CONTRIBUTION_ACCEPT, **{AppConstants.AGGREGATION_ACCEPTED: accepted})
        return accepted

    def play(self, *answers: Shareable, round: int = 0) -> Arrays:
        """A whole round: the answers arrive, and their mean comes out."""
        self.start(round)
        for answer in answers:
            self.arrive(answer)
        self.tell(AppEventType.BEFORE_AGGREGATION)
        data: Arrays = self.average.aggregate(self.fl_ctx)["DXO"]["data"]
        self.tell(AppEventType.ROUND_DONE)
        self.average.reset(self.fl_ctx)
        return data

    def events(self, kind: str | None = None) -> list[WorkerEvent]:
        """What the journal holds, all of it or of one type."""
        return [event for event in read_events(self.journal)[0] if kind in (None, event.type)]

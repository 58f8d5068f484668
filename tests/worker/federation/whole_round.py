"""Whole rounds with the real parts in one process: persistor, generator, executors, guard and average, and NVFLARE's wire."""

import shutil
from pathlib import Path
from typing import Any

import torch
from nvflare.apis.dxo import from_shareable
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import ReservedKey
from nvflare.apis.shareable import Shareable
from nvflare.app_common.abstract.model import ModelLearnable, ModelLearnableKey
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.app_event_type import AppEventType
from nvflare.app_common.decomposers import common_decomposers
from nvflare.app_common.shareablegenerators.full_model_shareable_generator import FullModelShareableGenerator
from nvflare.fuel.utils import fobs

from chalicelib.contracts.job import Cause
from chalicelib.contracts.worker import FailedEvent, RoundDoneEvent
from chalicelib.job_scripts.custom_persistor import CustomPersistor
from tests.job_scripts.builders import Site, importable
from tests.worker.federation.builders import Server

MODEL = {"path": "model_def.FLModelWrapper", "args": {}}


class Job:
    """A server and its sites; each site has the same model_def and a shard folder of its own."""

    def __init__(self, folder: Path, model_def: str, sites: int = 2, **persistor: Any) -> None:
        common_decomposers.register()  # as every process of a federation does
        self.folder = folder
        self.sites = {f"site-{n}": Site(folder / f"site-{n}", model_def) for n in range(1, sites + 1)}
        self.scripts = folder / "server"
        self.scripts.mkdir()
        (self.scripts / "model_def.py").write_text(model_def)
        self.persistor = CustomPersistor(MODEL, **persistor)
        self.server = Server(folder, {}, sites=sites)
        self.generator = FullModelShareableGenerator()
        with importable(self.scripts):
            self.learnable: ModelLearnable = self.persistor.load(self.server.fl_ctx)
        self._hold()
        self.server.tell(AppEventType.INITIAL_MODEL_LOADED)

    def play(self, round: int = 0) -> RoundDoneEvent:
        """One round, as its book tells it."""
        self._gather(round)
        mean = self.server.average.aggregate(self.server.fl_ctx)
        self.learnable = self.generator.shareable_to_learnable(mean, self.server.fl_ctx)
        self._hold()
        self.persistor.save(self.learnable, self.server.fl_ctx)
        self.server.tell(AppEventType.ROUND_DONE)
        self.server.average.reset(self.server.fl_ctx)
        done = self.server.events("round_done")[-1]
        assert isinstance(done, RoundDoneEvent)
        return done

    def refusal(self) -> Cause:
        """Why a round ended the job in which every update was refused."""
        self._gather(0)
        [event] = self.server.events("failed")
        assert isinstance(event, FailedEvent)
        return event.cause

    def _gather(self, round: int) -> None:
        self.server.start(round)
        for name, site in self.sites.items():
            self.server.arrive(self.answer(name, site, round))
        self.server.tell(AppEventType.BEFORE_AGGREGATION)

    def answer(self, name: str, site: Site, round: int = 0) -> Shareable:
        """What a site answers to the task of a round, as it reaches the server."""
        task = from_shareable(self.generator.learnable_to_shareable(self.learnable, self.server.fl_ctx))
        answer: Shareable = _sent(site.train(_sent(task.data), round=round, **_sent(task.meta or {})))
        answer.set_peer_props({ReservedKey.IDENTITY_NAME: name})
        answer.add_cookie(AppConstants.CONTRIBUTION_ROUND, round)
        return answer

    def saved(self) -> dict[str, Any]:
        """The state dict in GLOBAL_MODEL.pt."""
        state: dict[str, Any] = torch.load(self.folder / "run/run-1/GLOBAL_MODEL.pt", weights_only=True)
        return state

    def loads(self) -> str:
        """What a strict load of the saved model into a fresh one says."""
        with importable(self.scripts):
            import model_def  # type: ignore[import-not-found]

            return str(model_def.FLModelWrapper().load_state_dict(self.saved(), strict=True))

    def panic(self) -> str:
        """Why the server gave up; empty when it did not."""
        return next((str(data) for event, data in self.server.engine.fired if event == EventType.FATAL_SYSTEM_ERROR), "")

    def weights(self) -> dict[str, Any]:
        """The global model as it travels."""
        found: dict[str, Any] = self.learnable[ModelLearnableKey.WEIGHTS]
        return found

    def _hold(self) -> None:
        self.server.hold(self.learnable.get(ModelLearnableKey.WEIGHTS) or {}, self.learnable.get(ModelLearnableKey.META) or {})


def _sent(value: Any) -> Any:
    return fobs.loads(fobs.dumps(value))


def unpacked(shard: Path, job: Job) -> None:
    """Give every site of the job this shard."""
    for site in job.sites.values():
        shutil.unpack_archive(shard, site.executor.data_root)

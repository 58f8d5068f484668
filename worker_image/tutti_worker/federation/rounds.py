"""NVFLARE's scatter and gather, which then asks the sites what the new global model is worth."""

import os
from pathlib import Path

from nvflare.apis.controller_spec import ClientTask, Task
from nvflare.apis.dxo import from_shareable
from nvflare.apis.fl_constant import ReservedKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.app_event_type import AppEventType
from nvflare.app_common.workflows.scatter_and_gather import ScatterAndGather

from chalicelib.contracts.worker import ValidatedEvent, WarningEvent
from tutti_worker.federation.guard import TRAIN_TIMEOUT
from tutti_worker.federation.journal import write_event
from tutti_worker.federation.metrics import metrics_of

STOP_FLAG = "TUTTI_STOP_AFTER_ROUND"
"""The variable that names a file; once it exists, the round that is averaged next is the last."""
VALIDATED = "tutti_validated"
"""The event after a round's model was measured, and the context property with what each site said."""


class TuttiScatterAndGather(ScatterAndGather):  # type: ignore[misc]
    """Takes the stock workflow's place in a launched job, with its arguments; UpdateGuard keeps its rounds honest.

    Rounds count from ``start_round``; the sites are told ``start_round + num_rounds`` as the number of rounds.
    """

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Load the first global model."""
        self._validators: list[str] = []
        self._measured: dict[str, dict[str, float | None]] = {}
        fl_ctx.set_prop(TRAIN_TIMEOUT, self._train_timeout, private=True, sticky=True)
        fl_ctx.set_prop("allow_empty_global_weights", self.allow_empty_global_weights, private=True, sticky=True)
        super().start_controller(fl_ctx)

    def fire_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Fire an event; once everyone has heard that a round is done, have its model measured."""
        if event_type == AppEventType.ROUND_STARTED:
            self._validators = []
        super().fire_event(event_type, fl_ctx)
        if event_type == AppEventType.ROUND_DONE and self._validators:
            self._validate(fl_ctx)
        # Asked before the model is saved, so that the last round is saved as such, and again as late as possible.
        if event_type in (AppEventType.AFTER_SHAREABLE_TO_LEARNABLE, AppEventType.ROUND_DONE):
            self._obey_stop(fl_ctx)

    def _obey_stop(self, fl_ctx: FLContext) -> None:
        flag, done = os.environ.get(STOP_FLAG), self._current_round + 1 - self._start_round
        if flag and done < self._num_rounds and Path(flag).exists():
            self.log_info(fl_ctx, f"the job was asked to stop: round {self._current_round} is its last")
            self._num_rounds: int = done

    def _prepare_train_task_data(self, client_task: ClientTask, fl_ctx: FLContext) -> None:
        client_task.task.data.set_header(AppConstants.NUM_ROUNDS, self._start_round + self._num_rounds)
        super()._prepare_train_task_data(client_task, fl_ctx)

    def _accept_train_result(self, client_name: str, result: Shareable, fl_ctx: FLContext, is_unknown_task: bool = False) -> bool:
        accepted = bool(super()._accept_train_result(client_name, result, fl_ctx, is_unknown_task))
        # Asking a site whose config has no executor for the task would abort the whole job.
        if accepted and (from_shareable(result).meta or {}).get("tutti_validates"):
            self._validators.append(client_name)
        return accepted

    def _validate(self, fl_ctx: FLContext) -> None:
        self._measured = {}
        task = Task(
            name=AppConstants.TASK_VALIDATION,
            data=self._measure_request(fl_ctx),
            timeout=self._train_timeout,
            result_received_cb=self._take_measure,
        )
        # Measuring is a courtesy: it never holds a round longer than training may.
        self.broadcast_and_wait(
            task=task,
            targets=sorted(self._validators),
            min_responses=min(self._min_clients, len(self._validators)),
            wait_time_after_min_received=self._wait_time_after_min_received,
            fl_ctx=fl_ctx,
            abort_signal=fl_ctx.get_prop(ReservedKey.RUN_ABORT_SIGNAL),
        )
        if self._measured:
            write_event(ValidatedEvent(round=self._current_round, sites=dict(sorted(self._measured.items()))))
            fl_ctx.set_prop(VALIDATED, self._measured, private=True, sticky=False)
            super().fire_event(VALIDATED, fl_ctx)

    def _measure_request(self, fl_ctx: FLContext) -> Shareable:
        data = self.shareable_gen.learnable_to_shareable(self._global_weights, fl_ctx)
        data.set_header(AppConstants.CURRENT_ROUND, self._current_round)
        data.set_header(AppConstants.NUM_ROUNDS, self._start_round + self._num_rounds)
        return data

    def _take_measure(self, client_task: ClientTask, fl_ctx: FLContext) -> None:
        del fl_ctx
        site, result, client_task.result = client_task.client.name, client_task.result, None
        if result.get_return_code(ReturnCode.OK) == ReturnCode.OK:
            self._measured[site] = metrics_of(from_shareable(result).meta)
            return
        told = result.get_header("tutti_error") or {}
        sentence = told.get("sentence") or f"the answer was {result.get_return_code()}"
        write_event(WarningEvent(code="validate_failed", sentence=f"{site} could not validate the model: {sentence}"))

"""Checks every update when it arrives and keeps the book of the rounds, whatever workflow and executor the job uses."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nvflare.apis.dxo import DXO, DataKind, MetaKey, from_shareable
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import FLContextKey, ReservedKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_common.abstract.model import ModelLearnableKey
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.app_event_type import AppEventType
from pydantic import ValidationError

from chalicelib.contracts.job import Cause, ReasonCode
from chalicelib.contracts.worker import FailedEvent, RoundStartedEvent, WarningEvent
from tutti_worker.federation.averaging import AVERAGED, CLOSE_ROUND, REFUSAL, UPDATES
from tutti_worker.federation.book import RoundBook
from tutti_worker.federation.folders import model_folder, model_limit, state_folder
from tutti_worker.federation.journal import write_event
from tutti_worker.federation.metrics import metrics_of
from tutti_worker.federation.models import keep_round
from tutti_worker.federation.panic import cause_of_panic, cause_of_trouble, panic_text
from tutti_worker.federation.updates import Signature, check_samples, check_size, check_update, fit_names, signature

TRAIN_TIMEOUT = "tutti_train_timeout"
"""The context property by which the workflow tells its training timeout."""


class UpdateGuard(FLComponent):  # type: ignore[misc]
    """Gives a bad update an error's return code, so that NVFLARE's own minimum applies and the right site is named.

    Ends the job when a round has fewer good updates than the minimum, and journals each round and the one failure.
    """

    def __init__(self, min_clients: int = 1, train_task_name: str = AppConstants.TASK_TRAIN) -> None:
        super().__init__()
        self.min_clients, self.train_task_name = min_clients, train_task_name
        self._reference: Signature | None = None
        self._book: RoundBook | None = None
        self._failed = False
        self._expected: set[str] = set()
        self._hears = {
            AppEventType.INITIAL_MODEL_LOADED: self._learn,
            AppEventType.ROUND_STARTED: self._open,
            EventType.BEFORE_PROCESS_SUBMISSION: self._inspect,
            AppEventType.AFTER_CONTRIBUTION_ACCEPT: self._hear_aggregator,
            AppEventType.BEFORE_AGGREGATION: self._enforce,
            AppEventType.ROUND_DONE: self._close,
            EventType.END_WORKFLOW: self._close_unclosed,
            EventType.FATAL_SYSTEM_ERROR: self._fail,
        }

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Act on the events of the job."""
        act = self._hears.get(event_type)
        if act:
            act(fl_ctx)

    def _learn(self, fl_ctx: FLContext) -> None:
        self._expect(fl_ctx)
        cause = check_size(_global_weights(fl_ctx), model_limit())
        if cause:
            self.system_panic(panic_text(cause), fl_ctx)
            return
        self._reference = signature(_global_weights(fl_ctx), _global_meta(fl_ctx).get("tutti_dtypes")) or None

    def _open(self, fl_ctx: FLContext) -> None:
        self._close_unclosed(fl_ctx)
        self._expect(fl_ctx)
        if self._reference is None:
            self._learn(fl_ctx)
        self._book = RoundBook(int(fl_ctx.get_prop(AppConstants.CURRENT_ROUND) or 0))
        with self._ending_job(fl_ctx, f"round {self._book.round} could not be journalled"):
            write_event(RoundStartedEvent(round=self._book.round))

    def _expect(self, fl_ctx: FLContext) -> None:
        # Who dies is no longer among the connected ones, and must be named all the same.
        self._expected |= {client.name for client in fl_ctx.get_engine().get_clients()}

    def _inspect(self, fl_ctx: FLContext) -> None:
        if fl_ctx.get_prop(FLContextKey.TASK_NAME) != self.train_task_name:
            return
        result, site = fl_ctx.get_prop(FLContextKey.TASK_RESULT), _site(fl_ctx)
        book = self._book
        if book is None or book.closed or result.get_cookie(AppConstants.CONTRIBUTION_ROUND, book.round) != book.round:
            self._refuse_late(result, site)
            return
        try:
            cause = self._fault(result, site, book)
        except Exception as error:  # noqa: BLE001 - NVFLARE swallows it and would average an update nobody checked
            self.log_exception(fl_ctx, "an update could not be checked")
            cause = Cause(code=ReasonCode.PLATFORM_ERROR, sentence=f"the update of {site} could not be checked: {error}")
        if cause:
            book.refuse(site, cause.model_copy(update={"site": site, "round": book.round}))
            _mark_bad(result)
        elif book.closed:
            self._refuse_late(result, site)

    def _fault(self, result: Shareable, site: str, book: RoundBook) -> Cause | None:
        told = result.get_header("tutti_error")
        if told:
            return _told(told)
        code = result.get_return_code(ReturnCode.OK)
        if code != ReturnCode.OK:
            sentence = f"{site} answered {code}; its log shows why"
            return Cause(code=ReasonCode.TRAINING_RAISED, sentence=sentence)
        return self._misfit(result, from_shareable(result), site, book)

    def _misfit(self, result: Shareable, dxo: DXO, site: str, book: RoundBook) -> Cause | None:
        if dxo.data_kind not in (DataKind.WEIGHTS, DataKind.WEIGHT_DIFF):
            return None  # a workflow of the user's own, which knows what to do with it
        update = fit_names(self._reference, dxo.data)
        samples = dxo.get_meta_prop(MetaKey.NUM_STEPS_CURRENT_ROUND)
        wrong_count = check_samples(samples)
        if wrong_count:
            return Cause(code=ReasonCode.UPDATE_REFUSED, sentence=f"{site}: {wrong_count}")
        book.accept(site, None if samples is None else int(samples), metrics_of(dxo.meta))
        cause = check_update(self._reference, update, site=site, round=book.round)
        if cause is None:
            if update is not dxo.data:
                DXO(dxo.data_kind, data=dict(update), meta=dxo.meta).update_shareable(result)
            # A job without first weights has its form decided by the first update that comes.
            self._reference = self._reference or signature(update)
        return _placed(cause, dxo.meta) if cause else None

    def _hear_aggregator(self, fl_ctx: FLContext) -> None:
        if self._book is not None and fl_ctx.get_prop(AppConstants.AGGREGATION_ACCEPTED) is False:
            site = _site(fl_ctx)
            sentence = f"{site}: the aggregator rejected the update"
            cause = fl_ctx.get_prop(REFUSAL) or Cause(code=ReasonCode.UPDATE_REFUSED, sentence=sentence, site=site)
            self._book.refuse(site, cause.model_copy(update={"round": self._book.round}))

    def _enforce(self, fl_ctx: FLContext) -> None:
        if self._book is None:
            return
        self.fire_event_with_data(CLOSE_ROUND, fl_ctx, FLContextKey.EVENT_DATA, self._book.close())
        averaged = fl_ctx.get_prop(AVERAGED)
        if averaged is not None:  # an aggregator of the user's own does not tell
            self._book.settle(averaged)
        timeout = float(fl_ctx.get_prop(TRAIN_TIMEOUT) or 0)
        cause = self._book.shortfall(self.min_clients, self._expected, timeout)
        if cause:
            self.system_panic(panic_text(cause), fl_ctx)

    def _close(self, fl_ctx: FLContext) -> None:
        book, self._book = self._book, None
        if book is None or self._failed:
            return
        folder = model_folder()
        with self._ending_job(fl_ctx, f"round {book.round} could not be saved"):
            if folder is not None:
                keep_round(_global_weights(fl_ctx), _global_meta(fl_ctx), folder, book.round)
            write_event(book.done(self._expected))

    @contextmanager
    def _ending_job(self, fl_ctx: FLContext, doing: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - NVFLARE swallows it, and the job would end without its cause
            self.log_exception(fl_ctx, doing)
            round_ = int(fl_ctx.get_prop(AppConstants.CURRENT_ROUND) or 0)
            self.system_panic(panic_text(cause_of_trouble(error, doing, round_)), fl_ctx)

    def _close_unclosed(self, fl_ctx: FLContext) -> None:
        # Not every workflow says that a round is done; the next round or the end says it as well.
        if self._book is not None and self._book.accepted:
            self._close(fl_ctx)

    def _refuse_late(self, result: Shareable, site: str) -> None:
        of_round = result.get_cookie(AppConstants.CONTRIBUTION_ROUND)
        good = result.get_return_code(ReturnCode.OK) == ReturnCode.OK
        _mark_bad(result)  # first of all: the warning may meet a full disk
        if good:
            sentence = f"the update of {site} for round {of_round} came after the round was averaged and does not count"
            write_event(WarningEvent(code="late_update", sentence=sentence))

    def _fail(self, fl_ctx: FLContext) -> None:
        if self._failed:
            return
        self._failed = True
        text = str(fl_ctx.get_prop(FLContextKey.EVENT_DATA) or "")
        first, round_ = (self._book.first_cause, self._book.round) if self._book else (None, None)
        event = FailedEvent(cause=cause_of_panic(text, first, round_))
        try:
            write_event(event)
        except OSError:
            # The failed job's updates are of no use any more, and their room may be what the last word lacks.
            shutil.rmtree(state_folder(fl_ctx) / UPDATES, ignore_errors=True)
            write_event(event)


def _mark_bad(result: Shareable) -> None:
    if result.get_return_code(ReturnCode.OK) == ReturnCode.OK:
        result.set_return_code(ReturnCode.EXECUTION_RESULT_ERROR)


def _told(header: Any) -> Cause:
    try:
        return Cause.model_validate(header)
    except ValidationError:
        return Cause(code=ReasonCode.TRAINING_RAISED, sentence=str(header)[:500])


def _placed(cause: Cause, meta: Any) -> Cause:
    """The cause with the place of the function that made the update, if its executor tells one."""
    place = (meta or {}).get("tutti_place")
    if not isinstance(place, dict):
        return cause
    try:
        return Cause.model_validate(cause.model_dump() | {"file": place.get("file"), "line": place.get("line")})
    except ValidationError:
        return cause


def _site(fl_ctx: FLContext) -> str:
    peer = fl_ctx.get_peer_context()
    return str(peer.get_identity_name() if peer else fl_ctx.get_prop(ReservedKey.IDENTITY_NAME, "?"))


def _global_weights(fl_ctx: FLContext) -> dict[str, Any]:
    learnable = fl_ctx.get_prop(AppConstants.GLOBAL_MODEL) or {}
    return learnable.get(ModelLearnableKey.WEIGHTS) or {}


def _global_meta(fl_ctx: FLContext) -> dict[str, Any]:
    learnable = fl_ctx.get_prop(AppConstants.GLOBAL_MODEL) or {}
    return learnable.get(ModelLearnableKey.META) or {}

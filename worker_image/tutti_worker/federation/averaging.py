"""Averaging that gives the same bits whatever order the updates arrive in."""

import math
import re
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from nvflare.apis.dxo import DXO, DataKind, MetaKey, from_shareable
from nvflare.apis.fl_constant import FLContextKey, ReservedKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_common.abstract.aggregator import Aggregator
from nvflare.app_common.abstract.model import ModelLearnableKey
from nvflare.app_common.app_constant import AppConstants

from tutti_worker.federation.folders import state_folder
from tutti_worker.federation.mean import ordered_mean
from tutti_worker.federation.panic import cause_of_trouble
from tutti_worker.federation.store import StoredUpdate, UpdateStore, by_site
from tutti_worker.federation.tensors import as_tensor

CLOSE_ROUND = "tutti_close_round"
"""The event by which the guard ends a round; its data are the sites that count."""
AVERAGED = "tutti_averaged_sites"
"""The context property with the sites that the aggregator will average."""
REFUSAL = "tutti_aggregator_refusal"
"""The context property with the cause for which the aggregator could not take an update."""

UPDATES = "updates"
"""The folder of the round's updates, in the folder for state."""
CARRIED = ("tutti_dtypes", "tutti_extras")
"""What travels beside the global model from round to round."""


TOO_LATE = "it came after the round was closed"


class OrderedAverage(Aggregator):  # type: ignore[misc]
    """FedAvg for WEIGHTS or WEIGHT_DIFF, in place of InTimeAccumulateWeightedAggregator and with its arguments.

    Updates lie on disk until the round ends and are averaged tensor by tensor in the natural order of the sites'
    names, so memory holds one model and one tensor of each site.
    """

    def __init__(
        self,
        exclude_vars: str | None = None,
        aggregation_weights: dict[str, float] | None = None,
        expected_data_kind: str = DataKind.WEIGHT_DIFF,
        *,
        weigh_by_local_iter: bool = True,
    ) -> None:
        super().__init__()
        if expected_data_kind not in (DataKind.WEIGHTS, DataKind.WEIGHT_DIFF):
            raise ValueError(f"expected_data_kind is WEIGHTS or WEIGHT_DIFF, not {expected_data_kind!r}")
        for site, factor in (aggregation_weights or {}).items():
            if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 <= factor < math.inf:
                raise ValueError(f"aggregation_weights of {site} is {factor!r}; a finite number from 0 is wanted")
        self.exclude_vars = exclude_vars
        self.aggregation_weights = dict(aggregation_weights or {})
        self.expected_data_kind = expected_data_kind
        self.weigh_by_local_iter = weigh_by_local_iter
        self._lock = threading.Lock()
        self._weights: dict[str, float] = {}
        self._closed = False
        self._resets = 0
        self._as_tensors = False

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Take no update any more once the guard closes the round, and tell it which ones will be averaged."""
        super().handle_event(event_type, fl_ctx)
        if event_type == CLOSE_ROUND:
            counted = self._close(set(fl_ctx.get_prop(FLContextKey.EVENT_DATA) or ()))
            fl_ctx.set_prop(AVERAGED, counted, private=True, sticky=False)

    def accept(self, shareable: Shareable, fl_ctx: FLContext) -> bool:
        """Store an update of this round; a late, second or failed one is refused, and so is one that cannot be stored."""
        site = str(shareable.get_peer_prop(ReservedKey.IDENTITY_NAME, "?"))
        fl_ctx.set_prop(REFUSAL, None, private=True, sticky=False)
        try:
            why = self._refusal(shareable, site, fl_ctx) or self._take(shareable, site, fl_ctx)
        except Exception as error:  # noqa: BLE001 - NVFLARE would only end the task, and average without a word
            cause = cause_of_trouble(error, f"the update of {site} could not be stored")
            fl_ctx.set_prop(REFUSAL, cause, private=True, sticky=False)
            why = cause.sentence
        if why:
            self.log_warning(fl_ctx, f"the update of {site} is not averaged: {why}")
        return not why

    def _take(self, shareable: Shareable, site: str, fl_ctx: FLContext) -> str | None:
        dxo, store = from_shareable(shareable), self._store(fl_ctx)
        with self._lock:
            resets = self._resets
            if self._closed:
                return TOO_LATE
            store.make_ready()
        came_as_tensors = _has_tensors(dxo.data)
        store.put(site, {name: as_tensor(value) for name, value in dxo.data.items()})
        steps = dxo.get_meta_prop(MetaKey.NUM_STEPS_CURRENT_ROUND) if self.weigh_by_local_iter else None
        weight = float(self.aggregation_weights.get(site, 1.0)) * float(1.0 if steps is None else steps)
        with self._lock:
            if self._closed or resets != self._resets:
                return TOO_LATE
            self._weights[site] = weight
            self._as_tensors |= came_as_tensors
        return None

    def aggregate(self, fl_ctx: FLContext) -> Shareable:
        """The mean of the round's updates, in the global model's dtypes; empty when none counts."""
        counted = {site: weight for site, weight in by_site(self._close()).items() if weight > 0}
        learnable = fl_ctx.get_prop(AppConstants.GLOBAL_MODEL) or {}
        current = learnable.get(ModelLearnableKey.WEIGHTS) or {}
        meta = {key: value for key, value in (learnable.get(ModelLearnableKey.META) or {}).items() if key in CARRIED}
        as_tensors = _has_tensors(current) if current else self._as_tensors
        data: dict[str, Any] = {}
        with self._opened(counted, fl_ctx) as updates:
            for name in self._names(updates, current):
                value = self._value(name, updates, list(counted.values()), current)
                data[name] = value.numpy() if isinstance(value, torch.Tensor) and not as_tensors else value
        return DXO(self.expected_data_kind, data=data, meta=meta).to_shareable()

    def reset(self, fl_ctx: FLContext) -> None:
        """Forget the round. Its files stay until the next round's first update arrives."""
        del fl_ctx
        with self._lock:
            self._weights, self._closed, self._resets, self._as_tensors = {}, False, self._resets + 1, False

    def _close(self, wanted: Collection[str] | None = None) -> dict[str, float]:
        with self._lock:
            self._closed = True
            if wanted is not None:
                self._weights = {site: weight for site, weight in self._weights.items() if site in wanted}
            return dict(self._weights)

    def _names(self, updates: list[StoredUpdate], current: Mapping[str, Any]) -> list[str]:
        names = updates[0].names if updates else []
        # An excluded tensor keeps its value: as a weight it is sent as it was, as a difference it is left out.
        keeps = self.expected_data_kind == DataKind.WEIGHTS
        return [name for name in names if not self._excludes(name) or (keeps and name in current)]

    def _excludes(self, name: str) -> bool:
        return bool(self.exclude_vars and re.search(self.exclude_vars, name))

    def _refusal(self, shareable: Shareable, site: str, fl_ctx: FLContext) -> str | None:
        if shareable.get_return_code(ReturnCode.OK) != ReturnCode.OK:
            return f"its return code is {shareable.get_return_code()}"
        kind = from_shareable(shareable).data_kind
        if kind != self.expected_data_kind:
            return f"its kind is {kind}, expected {self.expected_data_kind}"
        of_round = shareable.get_cookie(AppConstants.CONTRIBUTION_ROUND)
        if of_round is not None and of_round != fl_ctx.get_prop(AppConstants.CURRENT_ROUND):
            return f"it belongs to round {of_round}"
        return "this site's update of the round is here already" if site in self._weights else None

    def _value(self, name: str, updates: list[StoredUpdate], weights: list[float], current: Mapping[str, Any]) -> Any:
        if self._excludes(name):
            return current[name]
        tensors = [update.tensor(name) for update in updates]
        reference = as_tensor(current[name]) if name in current else tensors[0]
        return ordered_mean(tensors, weights, (tensors[0] if reference is None else reference).dtype)

    @contextmanager
    def _opened(self, sites: Mapping[str, float], fl_ctx: FLContext) -> Iterator[list[StoredUpdate]]:
        store = self._store(fl_ctx)
        with ExitStack() as stack:
            yield [stack.enter_context(store.opened(site)) for site in sites]

    def _store(self, fl_ctx: FLContext) -> UpdateStore:
        return UpdateStore(state_folder(fl_ctx) / UPDATES, int(fl_ctx.get_prop(AppConstants.CURRENT_ROUND) or 0))


def _has_tensors(weights: Mapping[str, Any]) -> bool:
    # What NVFLARE left on the disk came as tensors too.
    return any(isinstance(value, torch.Tensor) or hasattr(value, "materialize") for value in weights.values())

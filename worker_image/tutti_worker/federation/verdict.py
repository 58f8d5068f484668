"""Did the job make a model? Judged from the journal and the files, never from NVFLARE's own status."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import torch

from chalicelib.contracts.job import SERVER, Cause, ReasonCode
from chalicelib.contracts.worker import FailedEvent, RoundDoneEvent, WorkerEvent


def verdict(events: Sequence[WorkerEvent], *, rounds: Iterable[int], minimum: int, model: Path) -> Cause | None:
    """Why the job failed: the first failure, else a round without its minimum, else a model that is none.

    None means that every round has at least the minimum of accepted updates and the model loads and is finite.
    """
    failure = next((event.cause for event in events if isinstance(event, FailedEvent)), None)
    return failure or _missing_round(events, rounds, minimum) or model_fault(model)


def model_fault(path: Path) -> Cause | None:
    """Why a saved model is none: missing, unreadable without running code, or not finite."""
    if not path.is_file():
        return _invalid("the server saved no model")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # noqa: BLE001 - any way in which a file cannot be read is the same verdict
        return _invalid(f"the saved model cannot be loaded: {type(error).__name__}: {str(error)[:300]}")
    if not isinstance(state, dict) or not state:
        return _invalid("the saved model holds no state dict")
    bad = [name for name, value in state.items() if isinstance(value, torch.Tensor) and not _finite(value)]
    return _invalid(f"the saved model has values that are not finite in {', '.join(bad[:3])}") if bad else None


def _missing_round(events: Sequence[WorkerEvent], rounds: Iterable[int], minimum: int) -> Cause | None:
    accepted = {
        event.round: sum(result.accepted for result in event.sites.values())
        for event in events
        if isinstance(event, RoundDoneEvent)
    }
    for number in rounds:
        count = accepted.get(number, 0)
        if count < minimum:
            code = ReasonCode.BELOW_MINIMUM if number in accepted else ReasonCode.PLATFORM_ERROR
            what = f"{count} of at least {minimum} updates" if number in accepted else "no average"
            return Cause(code=code, sentence=f"round {number + 1} has {what}", site=SERVER, round=number)
    return None


def _finite(tensor: torch.Tensor) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex()) or bool(torch.isfinite(tensor).all())


def _invalid(sentence: str) -> Cause:
    return Cause(code=ReasonCode.MODEL_INVALID, sentence=sentence, site=SERVER)

"""Whether a model was trained. NVFLARE's own final status is not asked: it says COMPLETED too easily."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from chalicelib.contracts.job import Cause, ReasonCode
from chalicelib.contracts.worker import RoundDoneEvent
from tutti_worker.trouble import Failure, failure

if TYPE_CHECKING:
    import torch


def judge(done: Sequence[RoundDoneEvent], *, rounds: Sequence[int], minimum: int, stopped_early: bool) -> list[int]:
    """The rounds whose average is in the model, in order.

    ``rounds`` were asked for. Raises Failure when one of them is missing (unless the user stopped after a round) or
    had fewer accepted results than the minimum.
    """
    seen = {event.round: event for event in done}
    missing = [number for number in rounds if number not in seen]
    good = [number for number in rounds if number in seen]
    if missing and not (stopped_early and good):
        raise failure(
            ReasonCode.PLATFORM_ERROR,
            f"the federation ended before round {missing[0] + 1} of {len(rounds)} was averaged.",
            round=missing[0],
        )
    for number in good:
        _check_round(seen[number], minimum)
    return good


def _check_round(event: RoundDoneEvent, minimum: int) -> None:
    accepted = [site for site, result in event.sites.items() if result.accepted]
    if len(accepted) >= minimum:
        return
    refused = next((result.refused for result in event.sites.values() if result.refused is not None), None)
    if refused is not None:
        raise Failure(refused)
    raise failure(
        ReasonCode.BELOW_MINIMUM,
        f"round {event.round + 1} had {len(accepted)} accepted results, {minimum} are the minimum.",
        round=event.round,
    )


def check_model(argv: Sequence[str]) -> int:
    """In a forked process: model file, file for the cause; exit status 1 when the model is no good."""
    try:
        load_finite(Path(argv[0]))
    except Failure as found:
        Path(argv[1]).write_text(found.cause.model_dump_json())
        return 1
    return 0


def load_finite(path: Path) -> int:
    """How many tensors the model file holds. Raises Failure model_invalid unless it loads and is finite."""
    import torch

    if not path.is_file():
        raise failure(ReasonCode.MODEL_INVALID, f"no {path.name} was saved.")
    try:
        weights = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:
        raise failure(ReasonCode.MODEL_INVALID, f"{path.name} does not load: {str(error)[:300]}") from error
    if not isinstance(weights, dict) or not weights:
        raise failure(ReasonCode.MODEL_INVALID, f"{path.name} holds no weights.")
    for name, value in weights.items():
        if isinstance(value, torch.Tensor) and not _is_sound(value):
            raise failure(ReasonCode.MODEL_INVALID, f"{name} in {path.name} holds values that are not finite.")
    return len(weights)


def _is_sound(value: "torch.Tensor") -> bool:
    finite = value.isfinite()
    if bool(finite.all()):
        return True
    # A mask holds zeros and infinities; weights that overflowed do not.
    return bool(finite.any()) and not bool(value.isnan().any() or value[finite].any())


def last_words(log: Sequence[str], sentence: str, code: ReasonCode, site: str) -> Cause:
    """A cause from the end of a log, for a process that left without one of its own."""
    return Cause(code=code, sentence=sentence, site=site, evidence=tuple(line[:500] for line in log[-40:]))

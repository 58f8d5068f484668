"""NVFLARE's panics carry a text; this is where the text becomes a cause."""

import errno

from pydantic import ValidationError

from chalicelib.contracts.job import SERVER, Cause, ReasonCode


def panic_text(cause: Cause) -> str:
    """A panic's text whose last line is the cause, for whoever hears of it."""
    return f"{cause.sentence}\n{cause.model_dump_json()}"


def cause_of_panic(text: str, first: Cause | None, round: int | None) -> Cause:
    """The cause in the panic's last line; else the first refusal if the panic is about one; else a guess by its words."""
    lines = text.strip().splitlines() or ["NVFLARE stopped the job without a word"]
    try:
        return Cause.model_validate_json(lines[-1])
    except ValidationError:
        pass
    if first and lines[0].startswith("Result from"):
        return first
    if any(_says_disk_full(line) for line in lines):
        code, sentence = ReasonCode.DISK_FULL, f"the server's disk is full: {lines[0]}"
    else:
        code, sentence = _guess(lines[0], round)
    return Cause(code=code, sentence=sentence, site=SERVER, round=round, evidence=tuple(lines[-40:]))


def is_disk_full(error: BaseException) -> bool:
    """True when a write failed because no space is left, whichever library wrote."""
    return getattr(error, "errno", None) == errno.ENOSPC or _says_disk_full(str(error))


def cause_of_trouble(error: BaseException, doing: str, round: int | None = None) -> Cause:
    """The server's own failure as a cause; ``doing`` says what could not be done, as in "the model could not be saved"."""
    if is_disk_full(error):
        sentence = f"the server's disk is full: {doing}"
        return Cause(code=ReasonCode.DISK_FULL, sentence=sentence, site=SERVER, round=round, evidence=(str(error)[:500],))
    sentence = f"{doing}: {type(error).__name__}: {str(error)[:300]}"
    return Cause(code=ReasonCode.PLATFORM_ERROR, sentence=sentence, site=SERVER, round=round)


def _says_disk_full(text: str) -> bool:
    # torch names only its writer when a disk is full; safetensors quotes the system's words.
    return any(words in text for words in ("No space left", "PytorchStreamWriter", "basic_ios::clear: iostream error"))


def _guess(line: str, round: int | None) -> tuple[ReasonCode, str]:
    if "deployment policy violation" in line:
        return ReasonCode.BELOW_MINIMUM, "fewer workers than the minimum are left"
    if "fatal return code" in line:
        return ReasonCode.CONFIG_INVALID, f"a worker's config does not serve a task of the server's: {line}"
    if round is None:
        return ReasonCode.MODEL_BUILD_FAILED, f"the server could not make the first global model: {line}"
    return ReasonCode.PLATFORM_ERROR, line

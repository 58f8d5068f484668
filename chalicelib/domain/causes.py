"""From a cause to the reason a user reads: which state it ends in, who is at fault, and what to do next."""

from dataclasses import dataclass

from chalicelib.contracts.job import Cause, Fault, JobState, Reason, ReasonCode


@dataclass(frozen=True)
class Meaning:
    """What a reason code stands for."""

    state: JobState
    fault: Fault
    advice: str


def _failed(fault: Fault, advice: str) -> Meaning:
    return Meaning(JobState.FAILED, fault, advice)


MEANINGS: dict[ReasonCode, Meaning] = {
    ReasonCode.COMPLETED: Meaning(JobState.FINISHED, Fault.NOBODY, "Download the model."),
    ReasonCode.STOPPED_BY_USER: Meaning(JobState.FINISHED, Fault.NOBODY, "Download the model of the last round."),
    ReasonCode.CANCELLED_BY_USER: Meaning(JobState.CANCELLED, Fault.NOBODY, "Launch again whenever you like."),
    ReasonCode.IMPORT_FAILED: _failed(
        Fault.CODE,
        "Correct the line named, or add the missing package to requirements/requirements.txt; launch again.",
    ),
    ReasonCode.MISSING_MODULE: _failed(
        Fault.CODE,
        "Add the package that brings the module to requirements/requirements.txt, or the file to scripts/; launch again.",
    ),
    ReasonCode.DEPENDENCY_CONFLICT: _failed(
        Fault.SETTINGS,
        "Ask for versions that fit each other in requirements/requirements.txt (for torch and numpy: 'numpy<2'); launch again.",
    ),
    ReasonCode.NAME_MISSING: _failed(
        Fault.CODE, "Define the class or function in the module named, or correct its name in the configs."
    ),
    ReasonCode.MODEL_BUILD_FAILED: _failed(
        Fault.CODE,
        "Make the class accept the server config's args (let its __init__ take **kwargs); launch again.",
    ),
    ReasonCode.CHECKPOINT_FAILED: _failed(
        Fault.DATA,
        "Upload a checkpoint that holds a plain state dict of this model, or remove it to start afresh.",
    ),
    ReasonCode.MODEL_TOO_LARGE: _failed(
        Fault.SETTINGS, "Train a smaller model, or only adapters beside a frozen one that the shards bring along."
    ),
    ReasonCode.CONFIG_INVALID: _failed(Fault.SETTINGS, "Correct the config named, or build the workspace again."),
    ReasonCode.TRAINING_RAISED: _failed(Fault.CODE, "Read the traceback, correct the line named, and launch again."),
    ReasonCode.WRONG_RETURN: _failed(
        Fault.CODE,
        "Return a dict with 'weights' (a state dict) and 'samples' (a whole number).",
    ),
    ReasonCode.UPDATE_REFUSED: _failed(
        Fault.CODE,
        "Return exactly the global model's tensors, finite and of the same shapes; look at the loss.",
    ),
    ReasonCode.NO_SAMPLES: _failed(Fault.DATA, "Check that the shards hold data where the training function reads it."),
    ReasonCode.ROUND_TIMED_OUT: _failed(
        Fault.SETTINGS, "Raise the training timeout, lower the work of a round, or set the timeout to 0 for no limit."
    ),
    ReasonCode.BELOW_MINIMUM: _failed(Fault.CODE, "Look at the logs of the workers that did not answer."),
    ReasonCode.PROCESS_KILLED: _failed(Fault.PROVIDER, "Launch again; if it recurs, look at the worker's memory use."),
    ReasonCode.PROCESS_CRASHED: _failed(
        Fault.CODE,
        "Look for what ends the process: os._exit, a native library, an extension; try the function on the shard alone.",
    ),
    ReasonCode.OUT_OF_MEMORY: _failed(Fault.SETTINGS, "Lower batch_size or choose workers with more memory, and launch again."),
    ReasonCode.GPU_MEMORY: _failed(
        Fault.SETTINGS,
        "Lower batch_size, keep nothing on the GPU between rounds, or choose a GPU with more memory; launch again.",
    ),
    ReasonCode.SHARED_MEMORY: _failed(
        Fault.CODE, "Load data in the training process itself: DataLoader(…, num_workers=0); launch again."
    ),
    ReasonCode.WORKER_SILENT: _failed(Fault.PROVIDER, "Launch again; the machine or its network was lost."),
    ReasonCode.WORKER_NOT_JOINED: _failed(Fault.PROVIDER, "Look at the worker's log for what it last did, and launch again."),
    ReasonCode.REQUIREMENTS_FAILED: _failed(
        Fault.SETTINGS, "Correct requirements/requirements.txt as the resolver's lines say, and launch again."
    ),
    ReasonCode.SHARD_INVALID: _failed(Fault.DATA, "Make the zip anew and upload it again."),
    ReasonCode.DISK_FULL: _failed(
        Fault.SETTINGS, "Free space on that disk or choose workers with more; or make the shards and outputs smaller."
    ),
    ReasonCode.SERVER_LOST: _failed(Fault.PROVIDER, "Launch again; the rounds saved so far are in model_out/."),
    ReasonCode.MODEL_INVALID: _failed(
        Fault.CODE, "Look at the last rounds' losses: the averaged model was missing, did not load, or was not finite."
    ),
    ReasonCode.PLATFORM_ERROR: _failed(Fault.PLATFORM, "Launch again; if it recurs, report the job's id."),
}
"""Every code has its meaning; tests/domain/test_causes.py fails when one lacks it."""


def trimmed(cause: Cause) -> Cause:
    """The cause in a size that a row can hold: the last 40 lines of evidence, each of 400 characters at most."""
    evidence = tuple(line[:400] for line in cause.evidence[-40:])
    return cause.model_copy(update={"sentence": cause.sentence[:2000], "evidence": evidence})


def reason_for(cause: Cause) -> Reason:
    """The reason of a cause: same code and place, with the fault and the advice its code stands for."""
    meaning = MEANINGS[cause.code]
    return Reason(
        code=cause.code,
        sentence=cause.sentence,
        fault=meaning.fault,
        advice=meaning.advice,
        site=cause.site,
        file=cause.file,
        line=cause.line,
        round=cause.round,
        evidence=cause.evidence[-40:],
    )


def state_for(reason: Reason) -> JobState:
    """The state a job with this reason ends in."""
    return MEANINGS[reason.code].state

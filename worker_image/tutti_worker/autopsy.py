"""Why a training process ended that had not come to its own end: out of memory, by its own doing, or killed."""

import signal

from chalicelib.contracts.job import Cause, ReasonCode
from tutti_worker import whereabouts
from tutti_worker.memory import said_so
from tutti_worker.messages import Ended
from tutti_worker.verdict import last_words
from tutti_worker.worker import Worker

CONFIG_ERROR = 103
"""NVFLARE's exit status for a config it cannot use."""
_OWN_DOING = frozenset(
    {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGSYS, signal.SIGTRAP}
)
"""Signals that a process brings on itself by what its code does."""


def of_training(worker: Worker, ended: Ended, over_limit: int | None) -> Cause:
    """The cause for the training process of a worker; ``over_limit``: the bytes for which its supervisor ended it."""
    site, log = worker.assignment.site, worker.logs.tail("job")
    what = f"the training process of {site}"
    if over_limit is not None:
        limit = worker.assignment.memory_limit or 0
        sentence = f"{site} held {_mib(over_limit)} of memory, its limit is {_mib(limit)}; use a smaller batch or more memory."
        return last_words(log, sentence, ReasonCode.OUT_OF_MEMORY, site)
    if worker.oom.has_grown() or said_so(log):
        sentence = f"{site} ran out of memory; use a smaller batch or a machine with more."
        return last_words(log, sentence, ReasonCode.OUT_OF_MEMORY, site)
    if ended.status == CONFIG_ERROR:
        return last_words(log, f"NVFLARE refused the client config on {site}.", ReasonCode.CONFIG_INVALID, site)
    return of_process(worker, ended, what, site)


def of_process(worker: Worker, ended: Ended, what: str, site: str) -> Cause:
    """The cause for a job process by its exit status alone, with the line of the user's scripts on which it crashed."""
    log = worker.logs.tail("job")
    if ended.status >= 0:
        sentence = f"{what} ended itself without a word (exit status {ended.status}), as os._exit() does."
        return last_words(log, sentence, ReasonCode.PROCESS_CRASHED, site)
    if -ended.status not in _OWN_DOING:
        return last_words(log, f"{what} was ended by {how(ended.status)}.", ReasonCode.PROCESS_KILLED, site)
    place = whereabouts.read(worker.layout.whereabouts)
    where = f" in {place}" if place else ""
    cause = last_words(log, f"{what} crashed{where}: {how(ended.status)}.", ReasonCode.PROCESS_CRASHED, site)
    return cause.model_copy(update={"file": place.file, "line": place.line, "evidence": place.stack}) if place else cause


def how(status: int) -> str:
    """An exit status in words."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"

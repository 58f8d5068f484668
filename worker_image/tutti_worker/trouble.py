"""Why a worker leaves before its work is done."""

from chalicelib.contracts.job import Cause, ReasonCode


class Leave(Exception):
    """The worker stops here; ``exit_code`` is what its starter sees."""

    exit_code = 0


class Stopped(Leave):
    """Asked to stop, by SIGTERM or by the platform: ship what there is and go."""


class Superseded(Leave):
    """Another attempt has taken this worker's place."""

    exit_code = 75


class JobGone(Leave):
    """The platform knows this job or this worker no more."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class ApiUnreachable(Leave):
    """The platform did not answer for as long as the worker waits for it."""

    exit_code = 69


class Failure(Exception):
    """This worker cannot go on; carries the cause that is posted."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(cause.sentence)
        self.cause = cause


def failure(code: ReasonCode, sentence: str, **place: object) -> Failure:
    """A Failure with its cause built in one line; place: file, line, round, evidence, site."""
    return Failure(Cause.model_validate({"code": code, "sentence": sentence, **place}))

"""Errors of botocore become errors of the domain here, so that no SDK's class crosses an adapter."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.domain.errors import FLError, StoreUnavailable

_CUT_OFF = "The service does not answer: "


@contextmanager
def translated(codes: Mapping[str, Callable[[str], FLError]]) -> Iterator[None]:
    """Within it, an AWS error whose code is in ``codes`` is raised as the error made there from AWS's message.

    No connection, a time-out and every other code of AWS: StoreUnavailable, whose message carries the code.
    """
    try:
        yield
    except ClientError as error:
        code, message = str(error.response["Error"].get("Code", "")), str(error.response["Error"].get("Message", ""))
        make = codes.get(code)
        raise (make(message) if make else StoreUnavailable(_unknown(error, code, message))) from error
    except BotoCoreError as error:
        raise StoreUnavailable(f"{_CUT_OFF}{type(error).__name__}: {error}") from error


def _unknown(error: ClientError, code: str, message: str) -> str:
    return f"{error.operation_name} was refused with {code or 'no code'}: {message}"

"""The backend's log: JSON lines as Powertools writes them, without secrets."""

import logging

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

from chalicelib.contracts.masking import mask


class MaskedLines(LambdaPowertoolsFormatter):
    """Powertools' lines; a traceback quotes URLs and headers, which carry signatures and tokens."""

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON with every secret in it masked."""
        return mask(super().format(record))


def backend_logger() -> Logger:
    """The logger ``tutti``, which all floors share by its name."""
    return Logger(service="tutti", logger_formatter=MaskedLines())

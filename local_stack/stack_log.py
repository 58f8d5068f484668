"""The stack's own log: a file that cannot grow without bound, so that the terminal keeps what a person needs."""

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

from chalicelib.contracts.masking import mask

_LARGEST = 10 * 2**20
_KEPT = 2


def write_log_to(file: Path) -> None:
    """Send what the backend and the stack log to this file, 10 MiB and two older ones at most; nothing to the terminal."""
    handler = RotatingFileHandler(file, maxBytes=_LARGEST, backupCount=_KEPT, encoding="utf-8")
    handler.setFormatter(MaskedText("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # a line for each request of a burst, written by its one loop
    backend = logging.getLogger("tutti")  # it has a handler of its own, which writes JSON lines as in Lambda
    backend.propagate = False
    for old in list(backend.handlers):
        lines = RotatingFileHandler(file, maxBytes=_LARGEST, backupCount=_KEPT, encoding="utf-8")
        lines.setFormatter(old.formatter)
        backend.removeHandler(old)
        backend.addHandler(lines)


class MaskedText(logging.Formatter):
    """Lines and tracebacks without secrets; the backend's own formatter does the same."""

    def format(self, record: logging.LogRecord) -> str:
        return mask(super().format(record))


def keep_quiet() -> None:
    """Log nothing: for commands whose every line is for a person."""
    logging.getLogger("tutti").setLevel(logging.CRITICAL)

"""The backend's own log lines."""

import io
import json
import logging
import secrets
from pathlib import Path

from aws_lambda_powertools import Logger

from chalicelib.entrypoints.log import MaskedLines, backend_logger
from local_stack.stack_log import MaskedText

SIGNATURE = secrets.token_hex(32)
URL = f"https://h/b?X-Amz-Signature={SIGNATURE}&x=1"


def failing(logger: logging.Logger | Logger) -> None:
    try:
        raise ValueError(f"403 for {URL}")
    except ValueError:
        logger.exception("request failed", extra={"url": URL})


def test_a_line_of_the_backend_and_its_traceback_hold_no_signature() -> None:
    out = io.StringIO()
    failing(Logger(service="test-of-masks", stream=out, logger_formatter=MaskedLines()))
    line = json.loads(out.getvalue())
    assert (line["message"], line["service"]) == ("request failed", "test-of-masks")
    assert SIGNATURE not in out.getvalue()
    assert "X-Amz-Signature=***" in line["exception"]


def test_the_logger_that_all_floors_share_masks() -> None:
    backend_logger()
    assert all(isinstance(handler.formatter, MaskedLines) for handler in logging.getLogger("tutti").handlers)


def test_the_stacks_own_lines_and_tracebacks_hold_no_signature(tmp_path: Path) -> None:
    handler = logging.FileHandler(tmp_path / "stack.log")
    handler.setFormatter(MaskedText("%(levelname)s %(message)s"))
    logger = logging.Logger("stack")
    logger.addHandler(handler)
    failing(logger)
    handler.close()
    text = (tmp_path / "stack.log").read_text()
    assert SIGNATURE not in text
    assert "ValueError: 403 for https://h/b?X-Amz-Signature=***&x=1" in text

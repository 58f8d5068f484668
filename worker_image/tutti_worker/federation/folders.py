"""What the supervisor tells the federation's server: where its files go, and how large a model may be."""

import os
from pathlib import Path

from nvflare.apis.fl_context import FLContext


def state_folder(fl_ctx: FLContext) -> Path:
    """The folder for what a round needs until it ends."""
    return Path(os.environ.get("TUTTI_STATE_DIR") or run_folder(fl_ctx))


def model_folder() -> Path | None:
    """The folder from which the supervisor takes the models; None in a federation made by hand."""
    chosen = os.environ.get("TUTTI_MODEL_DIR")
    return Path(chosen) if chosen else None


def model_limit() -> int | None:
    """Bytes that the global model may have; None in a federation made by hand."""
    told = os.environ.get("TUTTI_MODEL_LIMIT")
    return int(told) if told else None


def run_folder(fl_ctx: FLContext) -> Path:
    """NVFLARE's folder of the running job."""
    return Path(fl_ctx.get_engine().get_workspace().get_run_dir(fl_ctx.get_job_id()))

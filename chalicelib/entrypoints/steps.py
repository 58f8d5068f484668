"""The state machine's steps, each a plain Lambda function; step_functions/training_job.asl.json calls them by these names."""

from typing import Any

from chalice.app import Blueprint

from chalicelib.bootstrap import App, current_app
from chalicelib.services import training
from chalicelib.services.training import Steps

bp = Blueprint(__name__)


def steps_of(app: App) -> Steps:
    """The ports that the steps share."""
    return Steps(
        jobs=app.jobs,
        objects=app.objects,
        accounts=app.accounts,
        fleet=app.fleet,
        compute=app.compute,
        workflow=app.workflow,
        clock=app.clock,
        ids=app.ids,
        settings=app.settings,
    )


@bp.lambda_function(name="prepare")
def prepare(event: dict[str, Any], _context: object) -> dict[str, object]:
    """Pin the shards; which sites to start and how long to wait."""
    return training.prepare(event["job_id"], steps_of(current_app()))


@bp.lambda_function(name="start_server")
def start_server(event: dict[str, Any], _context: object) -> None:
    """Start the central server; its Joined event answers the token."""
    training.start_server(event["job_id"], event["token"], steps_of(current_app()))


@bp.lambda_function(name="start_worker")
def start_worker(event: dict[str, Any], _context: object) -> None:
    """Start one worker and return at once."""
    training.start_worker(event["job_id"], event["site"], steps_of(current_app()))


@bp.lambda_function(name="train")
def train(event: dict[str, Any], _context: object) -> None:
    """Wait for the end of training; the server's Finished event answers the token."""
    training.train(event["job_id"], event["token"], steps_of(current_app()))


@bp.lambda_function(name="collect")
def collect(event: dict[str, Any], _context: object) -> None:
    """Verify and publish the model."""
    training.collect(event["job_id"], steps_of(current_app()))


@bp.lambda_function(name="release")
def release(event: dict[str, Any], _context: object) -> dict[str, str]:
    """Stop every worker and close the job."""
    return {"state": training.release(event["job_id"], steps_of(current_app()))}


@bp.lambda_function(name="fail")
def fail(event: dict[str, Any], _context: object) -> None:
    """Decide the end when nothing else has."""
    training.fail(event["job_id"], event.get("error", ""), event.get("cause", ""), steps_of(current_app()))

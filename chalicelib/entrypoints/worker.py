"""The workers' doors."""

from chalice.app import Blueprint

from chalicelib.bootstrap import current_app
from chalicelib.contracts.files import ObjectInfo
from chalicelib.contracts.worker import (
    Assignment,
    CompleteUpload,
    EventAnswer,
    EventBatch,
    TokenAnswer,
    TokenRequest,
    UrlAnswer,
    UrlRequest,
)
from chalicelib.entrypoints.auth import worker_authorizer
from chalicelib.entrypoints.http import endpoint
from chalicelib.entrypoints.http import worker as calling_worker
from chalicelib.services import progress, worker

bp = Blueprint(__name__)


@bp.route("/worker/token", methods=["POST"])
@endpoint(lambda: bp.current_request, status=201, takes=TokenRequest)
def token(wish: TokenRequest) -> TokenAnswer:
    """Exchange a one-time code for a worker's token."""
    app = current_app()
    return worker.redeem_code(wish, accounts=app.accounts, jobs=app.jobs, ids=app.ids)


@bp.route("/worker/assignment", methods=["GET"], authorizer=worker_authorizer)
@endpoint(lambda: bp.current_request)
def assignment() -> Assignment:
    """Everything this worker needs."""
    app = current_app()
    return worker.assignment(calling_worker(bp.current_request), jobs=app.jobs, objects=app.objects, settings=app.settings)


@bp.route("/worker/events", methods=["POST"], authorizer=worker_authorizer)
@endpoint(lambda: bp.current_request, takes=EventBatch)
def events(wish: EventBatch) -> EventAnswer:
    """Take a batch of events; say up to which number they are stored, what to do, when to call again."""
    app, request = current_app(), bp.current_request
    return progress.take_events(
        wish,
        calling_worker(request),
        jobs=app.jobs,
        workflow=app.workflow,
        clock=app.clock,
        ids=app.ids,
        settings=app.settings,
    )


@bp.route("/worker/urls", methods=["POST"], authorizer=worker_authorizer)
@endpoint(lambda: bp.current_request, takes=UrlRequest)
def urls(wish: UrlRequest) -> UrlAnswer:
    """Fresh signed URLs, each only for what this worker's role may read or write."""
    app, request = current_app(), bp.current_request
    return worker.sign_urls(calling_worker(request), wish, jobs=app.jobs, objects=app.objects, settings=app.settings)


@bp.route("/worker/uploads/complete", methods=["POST"], authorizer=worker_authorizer)
@endpoint(lambda: bp.current_request, takes=CompleteUpload)
def complete(wish: CompleteUpload) -> ObjectInfo:
    """Make the object of a multipart upload once all its parts are there."""
    app, request = current_app(), bp.current_request
    return worker.complete(calling_worker(request), wish, jobs=app.jobs, objects=app.objects, settings=app.settings)

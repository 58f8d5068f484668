"""Uploads: start, sign, list, complete, abort."""

from chalice.app import Blueprint

from chalicelib.bootstrap import current_app
from chalicelib.contracts.files import ObjectInfo, PartNumbers, Parts, PartUrls, Upload, UploadStart
from chalicelib.entrypoints.auth import user_authorizer
from chalicelib.entrypoints.http import endpoint, principal
from chalicelib.services import uploads

bp = Blueprint(__name__)


@bp.route("/uploads", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, status=201, takes=UploadStart)
def start(wish: UploadStart) -> Upload:
    """Begin a multipart upload of one file."""
    app, request = current_app(), bp.current_request
    return uploads.start_upload(
        principal(request), wish, accounts=app.accounts, objects=app.objects, ids=app.ids, clock=app.clock
    )


@bp.route("/uploads/{upload_id}/sign", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, takes=PartNumbers)
def sign(upload_id: str, wish: PartNumbers) -> PartUrls:
    """URLs for up to 100 parts."""
    app, request = current_app(), bp.current_request
    return uploads.sign_parts(
        principal(request), upload_id, wish, accounts=app.accounts, objects=app.objects, settings=app.settings
    )


@bp.route("/uploads/{upload_id}/parts", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def parts(upload_id: str) -> Parts:
    """What the store has of the upload."""
    app = current_app()
    return uploads.list_parts(principal(bp.current_request), upload_id, accounts=app.accounts, objects=app.objects)


@bp.route("/uploads/{upload_id}/complete", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def complete(upload_id: str) -> ObjectInfo:
    """Make the object once every part is there with its size."""
    app = current_app()
    return uploads.complete_upload(principal(bp.current_request), upload_id, accounts=app.accounts, objects=app.objects)


@bp.route("/uploads/{upload_id}", methods=["DELETE"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def abort(upload_id: str) -> None:
    """Drop the upload and its parts."""
    app = current_app()
    uploads.abort_upload(principal(bp.current_request), upload_id, accounts=app.accounts, objects=app.objects)

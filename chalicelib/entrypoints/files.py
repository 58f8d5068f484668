"""The files of the user's bucket. Keys travel in the query or the body, never in the path."""

from chalice.app import Blueprint

from chalicelib.bootstrap import current_app
from chalicelib.contracts.api import FileWish
from chalicelib.contracts.files import Deleted, DeleteFiles, Listing, SignedDownload
from chalicelib.entrypoints.auth import user_authorizer
from chalicelib.entrypoints.http import endpoint, principal, query
from chalicelib.services import files

bp = Blueprint(__name__)


@bp.route("/files", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, query=("prefix", "cursor", "delimiter"))
def list_files() -> Listing:
    """One page of the bucket under ``prefix``; with ``delimiter=/`` folder by folder."""
    app, request = current_app(), bp.current_request
    return files.list_files(
        principal(request),
        prefix=query(request, "prefix") or "",
        cursor=query(request, "cursor"),
        delimiter=query(request, "delimiter") or "",
        accounts=app.accounts,
        objects=app.objects,
    )


@bp.route("/files/download", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, takes=FileWish)
def download(wish: FileWish) -> SignedDownload:
    """A URL that gives one object."""
    app, request = current_app(), bp.current_request
    return files.sign_download(principal(request), wish.key, accounts=app.accounts, objects=app.objects, settings=app.settings)


@bp.route("/files/delete", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, takes=DeleteFiles)
def delete(wish: DeleteFiles) -> Deleted:
    """Delete up to 1,000 objects; inputs of a running job are refused by name."""
    app, request = current_app(), bp.current_request
    return files.delete_files(principal(request), wish, accounts=app.accounts, objects=app.objects, jobs=app.jobs)

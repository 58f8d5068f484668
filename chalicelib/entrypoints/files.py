"""The files of the user's bucket. Keys travel in the query or the body, never in the path."""

from chalice.app import Blueprint

from chalicelib.bootstrap import current_app
from chalicelib.contracts.api import FileWish
from chalicelib.contracts.files import (
    Deleted,
    DeleteFiles,
    FolderState,
    Listing,
    MoveFile,
    NewFolder,
    ObjectInfo,
    Restored,
    RestoreFiles,
    SignedDownload,
)
from chalicelib.entrypoints.auth import user_authorizer
from chalicelib.entrypoints.http import endpoint, number, principal, query
from chalicelib.services import files

bp = Blueprint(__name__)


@bp.route("/files", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, query=("prefix", "cursor", "delimiter", "limit"))
def list_files() -> Listing:
    """One page of the bucket under ``prefix``, of ``limit`` keys at most; with ``delimiter=/`` folder by folder."""
    app, request = current_app(), bp.current_request
    return files.list_files(
        principal(request),
        prefix=query(request, "prefix") or "",
        cursor=query(request, "cursor"),
        delimiter=query(request, "delimiter") or "",
        limit=number(request, "limit", files.PAGE),
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
    """Delete up to 1,000 objects; what a running job reads or writes is refused by name."""
    app, request = current_app(), bp.current_request
    return files.delete_files(principal(request), wish, accounts=app.accounts, objects=app.objects, jobs=app.jobs)


@bp.route("/files/restore", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, takes=RestoreFiles)
def restore(wish: RestoreFiles) -> Restored:
    """Undo the deletion of up to 1,000 objects, where the bucket kept them."""
    app, request = current_app(), bp.current_request
    return files.restore_files(principal(request), wish, accounts=app.accounts, objects=app.objects)


@bp.route("/files/move", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, takes=MoveFile)
def move(wish: MoveFile) -> ObjectInfo:
    """Give one object another key; nothing is overwritten."""
    app, request = current_app(), bp.current_request
    return files.move_file(principal(request), wish, accounts=app.accounts, objects=app.objects, jobs=app.jobs)


@bp.route("/files/folder", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, takes=NewFolder)
def make_folder(wish: NewFolder) -> None:
    """Make an empty folder."""
    app, request = current_app(), bp.current_request
    files.make_folder(principal(request), wish, accounts=app.accounts, objects=app.objects)


@bp.route("/files/folder", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, query=("prefix",))
def show_folder() -> FolderState:
    """What can be done under ``prefix`` now: undo deletions, and touch what no running job guards."""
    app, request = current_app(), bp.current_request
    prefix = query(request, "prefix") or ""
    return files.folder_state(principal(request), prefix, accounts=app.accounts, objects=app.objects, jobs=app.jobs)

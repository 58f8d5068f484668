"""Workspaces."""

from chalice.app import Blueprint

from chalicelib.bootstrap import current_app
from chalicelib.contracts.report import Report
from chalicelib.contracts.wizard import WizardForm
from chalicelib.contracts.workspace import Built, FileEdit, FileText, Preview, Workspace, Workspaces
from chalicelib.domain.errors import InvalidRequest
from chalicelib.entrypoints.auth import user_authorizer
from chalicelib.entrypoints.http import endpoint, principal, query
from chalicelib.services import validation, workspaces

bp = Blueprint(__name__)


@bp.route("/workspaces", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, status=201, takes=WizardForm)
def create(wish: WizardForm) -> Built:
    """Write a new workspace from the wizard's form; a taken name is 409 with a free suggestion."""
    app, request = current_app(), bp.current_request
    return workspaces.create_workspace(
        principal(request), wish, accounts=app.accounts, objects=app.objects, settings=app.settings
    )


@bp.route("/wizard/preview", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, takes=WizardForm)
def preview(wish: WizardForm) -> Preview:
    """The files this form would give; nothing is written."""
    return workspaces.preview(wish)


@bp.route("/workspaces", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, query=("cursor",))
def list_all() -> Workspaces:
    """One page of the folders under ``jobs/``."""
    app, request = current_app(), bp.current_request
    cursor = query(request, "cursor")
    return workspaces.list_workspaces(principal(request), cursor=cursor, accounts=app.accounts, objects=app.objects)


@bp.route("/workspaces/{name}", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def show(name: str) -> Workspace:
    """The five cards from one live listing, and the newest report."""
    app = current_app()
    return workspaces.show_workspace(
        principal(bp.current_request),
        name,
        accounts=app.accounts,
        objects=app.objects,
        reports=app.reports,
        jobs=app.jobs,
    )


@bp.route("/workspaces/{name}", methods=["PUT"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, takes=WizardForm)
def rebuild(name: str, wish: WizardForm) -> Built:
    """Write the generated files anew; needs If-Match, and keeps files edited by hand unless ``overwrite=true``."""
    app, request = current_app(), bp.current_request
    if_match = request.headers.get("if-match")
    if not if_match:
        raise InvalidRequest("building again needs If-Match", fields={"If-Match": "the etag of the files you loaded"})
    return workspaces.rebuild_workspace(
        principal(request),
        name,
        wish,
        if_match.strip('"'),
        overwrite=query(request, "overwrite") == "true",
        accounts=app.accounts,
        objects=app.objects,
        settings=app.settings,
    )


@bp.route("/workspaces/{name}/built", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def built(name: str) -> Built:
    """The generated files as they are now, and the etag to build again with."""
    app = current_app()
    return workspaces.show_built(
        principal(bp.current_request), name, accounts=app.accounts, objects=app.objects, settings=app.settings
    )


@bp.route("/workspaces/{name}/report", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def report(name: str) -> Report:
    """The newest report; checked now when there is none yet."""
    app = current_app()
    user = principal(bp.current_request)
    stored, _ = app.reports.newest(user.user, name)
    return stored or _check(name)


@bp.route("/workspaces/{name}/check", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def check(name: str) -> Report:
    """Check the workspace now."""
    return _check(name)


def _check(name: str) -> Report:
    app = current_app()
    user = principal(bp.current_request)
    bucket = workspaces.require_workspace(user, name, accounts=app.accounts, objects=app.objects)
    return validation.check(user.user, name, bucket=bucket, objects=app.objects, reports=app.reports, clock=app.clock)


@bp.route("/workspaces/{name}/file", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, query=("path",))
def read_file(name: str) -> FileText:
    """A text file of the workspace, with its ETag."""
    app, request = current_app(), bp.current_request
    path = query(request, "path")
    if path is None:
        raise InvalidRequest("which file?", fields={"path": "for example configs/meta.json"})
    return workspaces.read_file(principal(request), name, path, accounts=app.accounts, objects=app.objects)


@bp.route("/workspaces/{name}/file", methods=["PUT"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, takes=FileEdit)
def save_file(name: str, wish: FileEdit) -> FileText:
    """Save an edited config against the ETag it was loaded with."""
    app, request = current_app(), bp.current_request
    return workspaces.save_file(principal(request), name, wish, accounts=app.accounts, objects=app.objects)

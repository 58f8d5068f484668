"""Authorizers: users by access token or API key, workers by their own token. Answers are never cached (ttl 0, every route)."""

from chalice.app import AuthRequest, AuthResponse, Blueprint

from chalicelib.bootstrap import current_app
from chalicelib.contracts.account import Principal
from chalicelib.domain.errors import NotSignedIn
from chalicelib.services import account
from chalicelib.services.worker import worker_of_token

bp = Blueprint(__name__)


def _bearer(request: AuthRequest) -> str:
    scheme, _, token = request.token.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise NotSignedIn("the Authorization header is not 'Bearer …'")
    return str(token.strip())


def _user(request: AuthRequest) -> Principal:
    app, token = current_app(), _bearer(request)
    if token.startswith(account.KEY_PREFIX):
        return account.user_of_key(token, accounts=app.accounts, clock=app.clock)
    return app.verify(token)


@bp.authorizer(ttl_seconds=0)
def user_authorizer(request: AuthRequest) -> AuthResponse:
    """Let a signed-in user in; anybody else nowhere."""
    try:
        user = _user(request)
    except NotSignedIn:
        return AuthResponse(routes=[], principal_id="nobody")
    return AuthResponse(routes=["*"], principal_id=user.user, context={"user": user.user, "name": user.name})


@bp.authorizer(ttl_seconds=0)
def worker_authorizer(request: AuthRequest) -> AuthResponse:
    """Let a worker of a job that has not ended in; anybody else nowhere."""
    try:
        worker = worker_of_token(_bearer(request), accounts=current_app().accounts)
    except NotSignedIn:
        return AuthResponse(routes=[], principal_id="nobody")
    context = {"job_id": worker.job_id, "attempt": str(worker.attempt), "site": worker.site, "role": worker.role}
    return AuthResponse(routes=["*"], principal_id=f"{worker.job_id}/{worker.site}", context=context)

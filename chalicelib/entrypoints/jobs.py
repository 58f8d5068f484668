"""Offers and jobs: launch, list, follow, cancel, results."""

from chalice.app import Blueprint

from chalicelib.bootstrap import current_app
from chalicelib.contracts.files import SignedDownload
from chalicelib.contracts.job import Job, JobView, Launched, LaunchRequest, LiveView
from chalicelib.contracts.offers import Offers
from chalicelib.contracts.results import JobViews, LogSegments, Rounds
from chalicelib.entrypoints.auth import user_authorizer
from chalicelib.entrypoints.http import endpoint, number, principal, query
from chalicelib.services import jobs, launch, results

bp = Blueprint(__name__)


def _own(job_id: str) -> Job:
    return jobs.own_job(principal(bp.current_request), job_id, jobs=current_app().jobs)


@bp.route("/offers", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def offers() -> Offers:
    """GPU types with price and free count, now."""
    app = current_app()
    return Offers(at=app.clock.now(), offers=tuple(app.fleet.offers()))


@bp.route("/jobs", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, status=201, takes=LaunchRequest)
def launch_one(wish: LaunchRequest) -> JobView:
    """Launch a workspace; the same client token again gives the same job."""
    app, request = current_app(), bp.current_request
    job = launch.launch_job(
        wish,
        principal(request),
        jobs=app.jobs,
        objects=app.objects,
        accounts=app.accounts,
        reports=app.reports,
        fleet=app.fleet,
        workflow=app.workflow,
        clock=app.clock,
        ids=app.ids,
        settings=app.settings,
    )
    return jobs.view(job)


@bp.route("/jobs", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, query=("cursor", "workspace"))
def list_all() -> JobViews:
    """One page of the user's jobs, newest first."""
    request = bp.current_request
    cursor, workspace = query(request, "cursor"), query(request, "workspace")
    return jobs.list_jobs(principal(request), cursor=cursor, workspace=workspace, jobs=current_app().jobs)


@bp.route("/jobs/{job_id}", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def show(job_id: str) -> JobView:
    """One job."""
    return jobs.view(_own(job_id))


@bp.route("/jobs/{job_id}/live", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, query=("after",))
def live(job_id: str) -> LiveView:
    """What changed after the number ``after``, and when to ask again."""
    request = bp.current_request
    return jobs.follow(principal(request), job_id, number(request, "after"), jobs=current_app().jobs)


@bp.route("/jobs/{job_id}/rounds", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def rounds(job_id: str) -> Rounds:
    """Every round so far with its workers' numbers."""
    return results.show_rounds(_own(job_id), jobs=current_app().jobs)


@bp.route("/jobs/{job_id}/launched", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def launched(job_id: str) -> Launched:
    """The launched files and their difference from the workspace's."""
    app = current_app()
    return launch.show_launched(_own(job_id), objects=app.objects, settings=app.settings)


@bp.route("/jobs/{job_id}/logs", methods=["GET"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request, query=("source", "after"))
def logs(job_id: str) -> LogSegments:
    """Signed URLs of the log segments after a feed number."""
    app, request = current_app(), bp.current_request
    return results.list_logs(
        _own(job_id),
        source=query(request, "source"),
        after=number(request, "after"),
        jobs=app.jobs,
        objects=app.objects,
        settings=app.settings,
    )


@bp.route("/jobs/{job_id}/cancel", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def cancel(job_id: str) -> JobView:
    """Ask the job to end."""
    app = current_app()
    user = principal(bp.current_request)
    job = jobs.cancel(user, job_id, jobs=app.jobs, workflow=app.workflow, clock=app.clock, ids=app.ids)
    return jobs.view(job)


@bp.route("/jobs/{job_id}/model", methods=["POST"], authorizer=user_authorizer)
@endpoint(lambda: bp.current_request)
def model(job_id: str) -> SignedDownload:
    """A URL for the trained model."""
    app = current_app()
    return results.sign_model(_own(job_id), objects=app.objects, settings=app.settings)

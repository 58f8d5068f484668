"""The composition root: ``App`` is all ports filled. Nothing else constructs an adapter."""

from collections.abc import Callable
from dataclasses import dataclass

from chalicelib.contracts.account import Principal, SignIn
from chalicelib.domain.errors import FLError
from chalicelib.ports import (
    AccountStore,
    BucketKeys,
    Clock,
    Compute,
    Fleet,
    Ids,
    JobStore,
    ObjectStore,
    ReportStore,
    Workflow,
)
from chalicelib.settings import Settings


@dataclass(frozen=True)
class App:
    """Every port the entrypoints hand to the services, and the settings."""

    settings: Settings
    objects: ObjectStore
    bucket_keys: BucketKeys
    jobs: JobStore
    reports: ReportStore
    accounts: AccountStore
    fleet: Fleet
    compute: Compute
    workflow: Workflow
    clock: Clock
    ids: Ids
    verify: Callable[[str], Principal]
    """Who an access token speaks for; NotSignedIn when it does not hold."""
    sign_in: SignIn


_installed: list[App] = []


def install(app: App) -> None:
    """Serve this App from now on; the laptop stack and tests call it before the first request."""
    _installed[:] = [app]


def cloud(settings: Settings) -> App:
    """The App of an AWS account. Its DynamoDB and Batch adapters are not written yet, so it says so."""
    raise FLError(
        f"the AWS side is not built yet (region {settings.region})",
        hint="Run the whole of Tutti on one machine with 'make up'.",
    )


def current_app() -> App:
    """The installed App, else the cloud's, made once."""
    if not _installed:
        install(cloud(Settings.from_env()))
    return _installed[0]

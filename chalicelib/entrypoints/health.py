"""Is anybody there, how does one sign in, and what does the wizard ask."""

from typing import Any

from chalice.app import Blueprint
from pydantic import RootModel

from chalicelib.bootstrap import current_app
from chalicelib.contracts.account import SignIn
from chalicelib.contracts.api import Health
from chalicelib.contracts.schema import wizard_schema
from chalicelib.entrypoints.http import endpoint
from chalicelib.version import VERSION

bp = Blueprint(__name__)


class WizardSchema(RootModel[dict[str, Any]]):
    """A JSON Schema."""


@bp.route("/health", methods=["GET"])
@endpoint(lambda: bp.current_request)
def health() -> Health:
    """The API answers."""
    return Health(status="ok", version=VERSION)


@bp.route("/sign-in", methods=["GET"])
@endpoint(lambda: bp.current_request)
def sign_in() -> SignIn:
    """The issuer to sign in with, and the client ids of the console and the command line."""
    return current_app().sign_in


@bp.route("/schema/wizard.json", methods=["GET"])
@endpoint(lambda: bp.current_request)
def wizard_json() -> WizardSchema:
    """The wizard's form as JSON Schema: titles, helps, bounds, defaults."""
    return WizardSchema(wizard_schema())

"""The Chalice app behind WSGI, held to what API Gateway and Lambda do with it in AWS."""

import logging
import time
from base64 import b64decode
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from chalice.app import Chalice
from chalice.config import Config
from chalice.local import (
    ForbiddenError,
    LambdaEventConverter,
    LocalChalice,
    LocalGateway,
    LocalGatewayException,
    NotAuthorizedError,
    RouteMatcher,
)

from local_stack.answers import Answer, body_of

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

logger = logging.getLogger(__name__)

HANDLER_S = 29  # API Gateway answers for the function when it takes longer
_LARGEST_ANSWER = 6 * 2**20  # Lambda's


class ChaliceApi:
    """A WSGI application for the routes of one Chalice app, safe under threads; paths come without the /api in front."""

    def __init__(self, app: Chalice, *, handler_s: float = HANDLER_S) -> None:
        _one_request_per_thread(app)
        self._routes: dict[str, Any] = app.routes
        self._handler_s = handler_s
        self._matcher = _Matcher(list(app.routes))
        settings = {"lambda_timeout": HANDLER_S, "stages": {"local": {}}}
        self._gateway = LocalGateway(app, Config(chalice_stage="local", config_from_disk=settings))
        self._gateway.event_converter = LambdaEventConverter(self._matcher, app.api.binary_types)

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Answer one request; the path is the raw one of REQUEST_URI after SCRIPT_NAME."""
        return self._answer(environ).send(environ, start_response)

    def _answer(self, environ: "WSGIEnvironment") -> Answer:
        target = environ["REQUEST_URI"][len(environ["SCRIPT_NAME"]) :] or "/"
        if not target.startswith("/"):
            target = f"/{target}"
        methods = self._methods_of(target)
        method = environ["REQUEST_METHOD"]
        if methods is None:
            path = unquote(urlsplit(target).path)[:200]
            return _error(HTTPStatus.NOT_FOUND, "not_found", f"there is no route /api{path}")
        allow = {"Allow": ", ".join(sorted({*methods, "OPTIONS"}))}
        if method == "OPTIONS":
            return Answer(HTTPStatus.NO_CONTENT).with_headers(allow)
        if method not in methods:
            refused = _error(HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", f"{method} is not answered here")
            return refused.with_headers(allow)
        return self._invoke(method, target, environ)

    def _methods_of(self, target: str) -> list[str] | None:
        try:
            route = self._matcher.match_route(target).route
        except ValueError:
            return None
        return list(self._routes[route])

    def _invoke(self, method: str, target: str, environ: "WSGIEnvironment") -> Answer:
        began = time.monotonic()
        try:
            response = self._gateway.handle_request(method, target, _headers(environ), body_of(environ))
        except LocalGatewayException as refused:
            return _refusal(refused)
        except Exception as error:  # noqa: BLE001 (a door: API Gateway answers for an authorizer that raised)
            return _authorizer_raised(error)
        took = time.monotonic() - began
        if took > self._handler_s:
            logger.warning("handler too slow", extra={"path": urlsplit(target).path, "seconds": round(took, 1)})
            return _error(HTTPStatus.GATEWAY_TIMEOUT, "timed_out", f"the handler took longer than {self._handler_s:g} s")
        return _as_answer(response)


class _Matcher(RouteMatcher):
    """API Gateway hands percent-encoded path parameters to the function decoded; Chalice's matcher leaves them."""

    def match_route(self, url: str) -> Any:
        found = super().match_route(url)
        return found._replace(captured={name: unquote(value) for name, value in found.captured.items()})


def _one_request_per_thread(app: Chalice) -> None:
    """One app object serves all threads, so ``current_request`` must not be one attribute of it: users would be mixed up."""
    if not isinstance(app, LocalChalice):
        app.__class__ = type("ThreadedChalice", (LocalChalice, app.__class__), {})


def _headers(environ: "WSGIEnvironment") -> dict[str, str]:
    found = {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name.startswith("HTTP_")}
    for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
        if environ.get(name):
            found[name.replace("_", "-").lower()] = environ[name]
    return found


def _as_answer(response: dict[str, Any]) -> Answer:
    body = response.get("body") or b""
    sent: bytes = body.encode() if isinstance(body, str) else body
    if len(sent) > _LARGEST_ANSWER:
        return _error(HTTPStatus.BAD_GATEWAY, "answer_too_large", "the answer is larger than 6 MB, Lambda's limit")
    headers = [(name, str(value)) for name, value in (response.get("headers") or {}).items()]
    for name, values in (response.get("multiValueHeaders") or {}).items():
        headers = [(known, value) for known, value in headers if known.lower() != name.lower()]
        headers += [(name, str(value)) for value in values]
    if response.get("isBase64Encoded"):
        sent = b64decode(sent)
    answer = Answer(response["statusCode"], tuple((n, v) for n, v in headers if n.lower() != "content-length"), sent)
    return answer.with_headers({"Content-Type": "application/json", "Cache-Control": "no-store"})


def _refusal(refused: LocalGatewayException) -> Answer:
    """No token, or one the route's authorizer lets in nowhere: both mean that somebody has to sign in."""
    if isinstance(refused, NotAuthorizedError | ForbiddenError):
        return _not_signed_in()
    return _error(HTTPStatus.INTERNAL_SERVER_ERROR, "error", "the authorizer gave no answer")


def _authorizer_raised(error: Exception) -> Answer:
    if str(error) == "Unauthorized":  # the one sentence that API Gateway understands
        return _not_signed_in()
    logger.exception("the authorizer or the app raised", exc_info=error)
    return _error(HTTPStatus.INTERNAL_SERVER_ERROR, "error", "the request could not be answered")


def _not_signed_in() -> Answer:
    hint = "Sign in, or send an API key as 'Authorization: Bearer …'."
    return _error(HTTPStatus.UNAUTHORIZED, "not_signed_in", "this needs a valid access token", hint=hint)


def _error(status: int, code: str, message: str, *, hint: str = "") -> Answer:
    return Answer.error(status, code, message, hint=hint, request_id=str(uuid4()))

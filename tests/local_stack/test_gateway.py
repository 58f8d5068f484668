"""The one port: who is answered, by which part, and in whose name."""

import http.client
import json
import logging
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from chalice.app import AuthRequest, AuthResponse, Chalice, Request, Response

from local_stack.answers import Answer
from local_stack.gateway import Gateway
from local_stack.gateway_api import ChaliceApi
from local_stack.ports_file import kept_ports
from local_stack.wsgi_server import PortTaken
from tests.local_stack.wsgi_caller import call

SIX_MB = 6 * 2**20


def tiny_app() -> Chalice:
    """An app whose users are their tokens; a token of two words is nobody's."""
    app = Chalice(app_name="tiny")

    @app.authorizer(ttl_seconds=0)
    def by_token(asked: AuthRequest) -> AuthResponse:
        user = asked.token.removeprefix("Bearer ")
        if user == "raise":
            raise RuntimeError("broken")
        if user == "unauthorized":
            raise RuntimeError("Unauthorized")
        return AuthResponse(routes=[] if " " in user else ["*"], principal_id=user, context={"user": user})

    def request() -> Request:
        assert app.current_request is not None
        return app.current_request

    def user() -> str:
        return str(request().context["authorizer"]["user"])

    @app.route("/me", authorizer=by_token)
    def me() -> dict[str, str]:
        before = user()
        time.sleep(0.002)
        return {"before": before, "after": user()}

    @app.route("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.route("/echo", methods=["POST"], content_types=["application/json", "application/octet-stream"])
    def echo() -> Any:
        if request().headers["content-type"] == "application/octet-stream":
            return Response(request().raw_body[::-1], headers={"Content-Type": "application/octet-stream"})
        return {"json": request().json_body}

    @app.route("/query")
    def query() -> dict[str, list[str]]:
        found = request().query_params
        return {name: found.getlist(name) for name in found} if found else {}

    @app.route("/named/{name}")
    def named(name: str) -> dict[str, str]:
        return {"name": name}

    @app.route("/large/{size}")
    def large(size: str) -> Response:
        return Response("x" * int(size), headers={"Content-Type": "text/plain"})

    @app.route("/slow")
    def slow() -> dict[str, str]:
        time.sleep(0.05)
        return {}

    @app.route("/fails")
    def fails() -> None:
        raise RuntimeError("inside")

    return app


def say_auth(environ: Any, start_response: Any) -> Any:
    return Answer.text(200, f"auth {environ['PATH_INFO']}").send(environ, start_response)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outside") / "site"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<h1>console</h1>")
    (folder / "config.json").write_text("{}")
    (folder / "assets" / "app-1a2b.js").write_text("export {}")
    (folder.parent / "secret.txt").write_text("not for you")
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    return folder


@pytest.fixture(scope="module")
def gateway(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    port = kept_ports(tmp_path_factory.mktemp("ports") / "ports.json", ["gateway"])["gateway"]
    made = Gateway(tiny_app(), issuer=say_auth, site=site, port=port, connect=["http://127.0.0.1:9000"])
    made.start()
    yield made
    made.stop()


@pytest.fixture
def http_(gateway: Gateway) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=gateway.origin, timeout=30) as client:
        yield client


def signed_in(user: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {user}"}


# In whose name


def test_many_users_at_once_are_each_answered_as_themselves(http_: httpx.Client) -> None:
    def ask(user: int) -> Counter[bool]:
        name = f"user-{user}"
        answers = (http_.get("/api/me", headers=signed_in(name)).json() for _ in range(50))
        return Counter(answer == {"before": name, "after": name} for answer in answers)

    with ThreadPoolExecutor(16) as pool:
        total = sum(pool.map(ask, range(16)), Counter[bool]())
    assert total == {True: 800}


def test_a_connection_serves_several_requests(gateway: Gateway) -> None:
    host, port = gateway.origin.removeprefix("http://").split(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=30)) as connection:
        connection.request("GET", "/api/health")
        connection.getresponse().read()
        used = connection.sock
        connection.request("GET", "/api/health")
        connection.getresponse().read()
        assert connection.sock is used


@pytest.mark.parametrize("headers", [{}, signed_in("two words"), signed_in("unauthorized")], ids=["none", "refused", "raised"])
def test_who_is_not_let_in_has_to_sign_in(http_: httpx.Client, headers: dict[str, str]) -> None:
    reply = http_.get("/api/me", headers=headers)
    assert (reply.status_code, reply.json()["error"]["code"]) == (401, "not_signed_in")


def test_an_authorizer_that_breaks_lets_nobody_in(http_: httpx.Client) -> None:
    reply = http_.get("/api/me", headers=signed_in("raise"))
    assert (reply.status_code, reply.json()["error"]["code"]) == (500, "error")


# Requests as API Gateway hands them on


def test_a_route_without_authorizer_needs_no_token(http_: httpx.Client) -> None:
    assert http_.get("/api/health").json() == {"status": "ok"}


def test_a_trailing_slash_is_the_same_route(http_: httpx.Client) -> None:
    assert http_.get("/api/health/").json() == {"status": "ok"}


def test_a_parameter_given_twice_arrives_twice(http_: httpx.Client) -> None:
    assert http_.get("/api/query?kind=a&kind=b%20c&empty=").json() == {"kind": ["a", "b c"], "empty": [""]}


@pytest.mark.parametrize("name", ["a b", "ü%20", "a/b", "+"])
def test_a_path_parameter_arrives_decoded(http_: httpx.Client, name: str) -> None:
    from urllib.parse import quote

    assert http_.get(f"/api/named/{quote(name, safe='')}").json() == {"name": name}


def test_json_goes_in_and_out(http_: httpx.Client) -> None:
    assert http_.post("/api/echo", json={"ü": [1, 2.5]}).json()["json"] == {"ü": [1, 2.5]}


def test_bytes_go_in_and_out(http_: httpx.Client) -> None:
    headers = {"Content-Type": "application/octet-stream", "Accept": "application/octet-stream"}
    assert http_.post("/api/echo", content=bytes(range(256)), headers=headers).content == bytes(reversed(range(256)))


def test_an_unknown_route_is_told_in_the_apis_form(http_: httpx.Client) -> None:
    reply = http_.get("/api/nothing")
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "not_found")


def test_an_unknown_route_is_the_same_with_a_token(http_: httpx.Client) -> None:
    assert http_.get("/api/nothing", headers=signed_in("ada")).status_code == 404


def test_a_refusal_carries_a_request_id(http_: httpx.Client) -> None:
    assert set(http_.get("/api/nothing").json()["error"]) == {"code", "message", "hint", "fields", "request_id"}


@pytest.mark.parametrize("method", ["DELETE", "HEAD"])
def test_a_method_the_route_does_not_know_is_refused(http_: httpx.Client, method: str) -> None:
    reply = http_.request(method, "/api/health")
    assert (reply.status_code, reply.headers["Allow"]) == (405, "GET, OPTIONS")


def test_options_tells_the_methods(http_: httpx.Client) -> None:
    reply = http_.options("/api/echo")
    assert (reply.status_code, reply.headers["Allow"]) == (204, "OPTIONS, POST")


def test_an_answer_is_not_kept_by_caches(http_: httpx.Client) -> None:
    assert http_.get("/api/health").headers["Cache-Control"] == "no-store"


def test_a_view_that_breaks_is_a_500(http_: httpx.Client) -> None:
    assert http_.get("/api/fails").status_code == 500


# Limits


def test_an_answer_of_six_megabytes_passes(http_: httpx.Client) -> None:
    assert len(http_.get(f"/api/large/{SIX_MB}").content) == SIX_MB


def test_a_larger_answer_is_a_502(http_: httpx.Client) -> None:
    reply = http_.get(f"/api/large/{SIX_MB + 1}")
    assert (reply.status_code, reply.json()["error"]["code"]) == (502, "answer_too_large")


def test_a_request_of_ten_megabytes_passes(http_: httpx.Client) -> None:
    headers = {"Content-Type": "application/octet-stream"}
    assert http_.post("/api/echo", content=b"x" * 10 * 2**20, headers=headers).status_code != 413


def test_a_larger_request_is_a_413_in_the_apis_form(http_: httpx.Client) -> None:
    reply = http_.post("/api/echo", content=b"x" * (10 * 2**20 + 1))
    assert (reply.status_code, reply.json()["error"]["code"]) == (413, "too_large")


def test_a_handler_slower_than_the_limit_is_a_504(caplog: pytest.LogCaptureFixture) -> None:
    api = ChaliceApi(tiny_app(), handler_s=0.01)
    with caplog.at_level(logging.WARNING):
        reply = call(api, "GET", "/slow")
    assert (reply.status, [record.message for record in caplog.records]) == (504, ["handler too slow"])


def test_what_is_no_http_is_refused_in_the_apis_form(gateway: Gateway) -> None:
    host, port = gateway.origin.removeprefix("http://").split(":")
    with closing(socket.create_connection((host, int(port)), timeout=30)) as raw:
        raw.sendall(b"GET /api/health HTTP/1.1\r\nbad header\r\n\r\n")
        with raw.makefile("rb") as answer:
            text = answer.read()
    assert json.loads(text.partition(b"\r\n\r\n")[2])["error"]["code"] == "invalid_request"


# Who may ask


@pytest.mark.parametrize("path", ["/", "/api/health", "/auth/authorize"])
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:80"])
def test_a_name_that_is_not_ours_is_refused(http_: httpx.Client, path: str, host: str) -> None:
    assert http_.get(path, headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
@pytest.mark.parametrize("path", ["/api/health", "/auth/token"])
def test_pages_of_other_origins_are_refused(http_: httpx.Client, path: str, origin: str) -> None:
    assert http_.get(path, headers={"Origin": origin}).status_code == 403


def test_the_console_itself_may_ask(http_: httpx.Client, gateway: Gateway) -> None:
    assert http_.get("/api/health", headers={"Origin": gateway.origin}).status_code == 200


def test_localhost_may_use_the_api(http_: httpx.Client, gateway: Gateway) -> None:
    host = gateway.origin.removeprefix("http://").replace("127.0.0.1", "localhost")
    assert http_.get("/api/health", headers={"Host": host}).status_code == 200


def test_the_console_is_led_from_localhost_to_its_one_origin(http_: httpx.Client, gateway: Gateway) -> None:
    host = gateway.origin.removeprefix("http://").replace("127.0.0.1", "localhost")
    reply = http_.get("/?x=1", headers={"Host": host})
    assert (reply.status_code, reply.headers["Location"]) == (307, f"{gateway.origin}/?x=1")


@pytest.mark.parametrize("path", ["/", "/api/health", "/auth/x", "/none"])
def test_every_answer_has_the_security_headers(http_: httpx.Client, path: str) -> None:
    headers = http_.get(path).headers
    wanted = ["x-content-type-options", "content-security-policy", "referrer-policy", "cross-origin-resource-policy"]
    assert [name for name in wanted if name not in headers] == []


# Which part answers


def test_auth_is_the_issuers(http_: httpx.Client) -> None:
    assert http_.get("/auth/authorize?x=1").text == "auth /authorize"


def test_a_path_that_only_begins_alike_is_not_the_issuers(http_: httpx.Client) -> None:
    assert http_.get("/authority").status_code == 404


def test_the_root_is_the_console(http_: httpx.Client) -> None:
    reply = http_.get("/")
    assert (reply.text, reply.headers["Content-Type"]) == ("<h1>console</h1>", "text/html; charset=utf-8")


def test_the_console_may_reach_the_object_store(http_: httpx.Client) -> None:
    assert "connect-src 'self' http://127.0.0.1:9000;" in http_.get("/").headers["Content-Security-Policy"]


def test_no_other_path_falls_back_to_the_console(http_: httpx.Client) -> None:
    assert http_.get("/jobs/1").status_code == 404


@pytest.mark.parametrize(
    ("path", "kept"), [("/", "no-cache"), ("/config.json", "no-cache"), ("/assets/app-1a2b.js", "immutable")]
)
def test_only_hashed_files_are_kept_by_browsers(http_: httpx.Client, path: str, kept: str) -> None:
    assert kept in http_.get(path).headers["Cache-Control"]


def test_an_unchanged_file_is_not_sent_again(http_: httpx.Client) -> None:
    reply = http_.get("/", headers={"If-None-Match": http_.get("/").headers["ETag"]})
    assert (reply.status_code, reply.content) == (304, b"")


def test_a_head_has_the_headers_of_a_get(http_: httpx.Client) -> None:
    reply = http_.head("/")
    assert (reply.status_code, reply.headers["Content-Length"], reply.content) == (200, "16", b"")


def test_files_cannot_be_written(http_: httpx.Client) -> None:
    assert http_.put("/index.html", content=b"x").status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/assets/../../secret.txt",
        "/..%5csecret.txt",
        "//secret.txt",
        "/link.txt",
        "/assets",
        "/index.html%00.js",
        "/" + "x" * 5000,
    ],
)
def test_nothing_outside_the_site_is_given(gateway: Gateway, path: str) -> None:
    host, port = gateway.origin.removeprefix("http://").split(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=30)) as connection:
        connection.putrequest("GET", path)
        connection.endheaders()
        assert connection.getresponse().status == 404


def test_without_a_built_console_the_root_says_how_to_go_on() -> None:
    reply = call(Gateway(tiny_app(), issuer=say_auth, site=None, port=8000), "GET", "/")
    assert (reply.status, "tutti login" in reply.text) == (200, True)


def test_a_mount_answers_below_its_prefix() -> None:
    gateway = Gateway(tiny_app(), issuer=say_auth, site=None, port=8000, mounts={"/_inner": say_auth})
    assert call(gateway, "GET", "/_inner/x").text == "auth /x"


def test_a_port_held_by_another_program_is_named(gateway: Gateway) -> None:
    port = int(gateway.origin.rpartition(":")[2])
    with pytest.raises(PortTaken, match=f"127.0.0.1:{port} is held"):
        Gateway(tiny_app(), issuer=say_auth, site=None, port=port).start()


def test_a_stopped_gateway_can_be_started_again(tmp_path: Path) -> None:
    port = kept_ports(tmp_path / "ports.json", ["gateway"])["gateway"]
    made = Gateway(tiny_app(), issuer=say_auth, site=None, port=port)
    for _ in range(2):
        made.start()
        status = httpx.get(f"{made.origin}/api/health").status_code
        made.stop()
    assert status == 200

"""A small real HTTP server that answers like the API, the object store and the issuer, and breaks on demand."""

import base64
import hashlib
import io
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tutti_fl import Client, Retries
from tutti_fl.cli import run_command
from tutti_fl.terminal import Terminal

TOKEN = "tutti_secret"
MIB = 2**20
ONE_TIME_CODE = "tulip-42"
NOW = "2026-05-01T10:00:00Z"
QUICK = Retries(tries=5, tries_in_outage=5, base_s=0.0, longest_s=0.0, pause=lambda _: None)


@dataclass
class Reply:
    """What the server answers: JSON, or bytes, or nothing at all (``drop``)."""

    status: int = 200
    json: Any = None
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False


@dataclass
class Call:
    """What the server was asked."""

    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body or b"null")


def refusal(status: int, code: str, message: str = "no", **fields: str) -> Reply:
    error = {"code": code, "message": message, "hint": "do better", "fields": fields, "request_id": "req-1"}
    return Reply(status, {"error": error})


@dataclass
class OpenUpload:
    key: str
    size: int
    parts: dict[int, bytes] = field(default_factory=dict)
    made: dict[str, Any] | None = None
    """The object, once it is completed."""


Break = Callable[[Call], Reply | None]


class FakeTutti:
    """The API, its store and its issuer in one. ``breaks`` sees every call first and may answer it in their place."""

    def __init__(self, *, part_size: int = 8 * MIB) -> None:
        self.url = ""
        self.part_size = part_size
        self.expiry_s = 3600
        self.breaks: Break = lambda _: None
        self.calls: list[Call] = []
        self.puts: Counter[tuple[str, int]] = Counter()
        self.objects: dict[str, bytes] = {}
        self.etags: dict[str, str] = {}
        self.uploads: dict[str, OpenUpload] = {}
        self.bucket: str | None = "tutti-b"
        self.built: dict[str, dict[str, Any]] = {}
        self.findings: list[dict[str, Any]] = []
        self.offers = [offer("cpu", price="0", free=4)]
        self.script: list[dict[str, Any]] = []
        """The answers of the live feed, in order."""
        self.job: dict[str, Any] = {}
        """The newest job."""
        self.older: list[dict[str, Any]] = []
        self.launches: dict[str, dict[str, Any]] = {}
        """Client token → job."""
        self.log_pieces: list[tuple[str, list[dict[str, str]]]] = []
        """The stored pieces of logs, by source, in the order in which they came."""
        self.model = b"weights"
        self.challenges: dict[str, dict[str, str]] = {}
        self._generation = 0
        self._lock = threading.Lock()

    def answer(self, call: Call) -> Reply:
        with self._lock:
            self.calls.append(call)
            broken = self.breaks(call)
            if broken is not None:
                return broken
            if call.path.startswith("/store/"):
                return self._store(call)
            if call.path.startswith("/auth/"):
                return self._issuer(call)
            if call.path != "/api/sign-in" and call.headers.get("Authorization") != f"Bearer {TOKEN}":
                return Reply(403, {"Message": "User is not authorized"})
            return self._api(call)

    def asked(self, method: str, end: str) -> list[Call]:
        """The calls so far with this method whose path ends so."""
        return [call for call in self.calls if call.method == method and call.path.endswith(end)]

    def expire_signatures(self) -> None:
        """URLs signed so far are refused from now on."""
        self._generation += 1

    # the store

    def _store(self, call: Call) -> Reply:
        kind, name = call.path.removeprefix("/store/").split("/", 1)
        if int(call.query["generation"]) < self._generation:
            return Reply(403, body=b"<Error><Code>AccessDenied</Code></Error>")
        if kind == "object":
            return _ranged(call, self.model if name == "GLOBAL_MODEL.pt" else self.objects[name])
        if kind == "log":
            return Reply(body="".join(json.dumps(line) + "\n" for line in self.log_pieces[int(name)][1]).encode())
        number = int(call.query["part"])
        upload = self.uploads.get(name)
        if upload is None or upload.made is not None:
            return Reply(404, body=b"<Error><Code>NoSuchUpload</Code></Error>")
        if call.headers.get("Content-Md5") != base64.b64encode(hashlib.md5(call.body).digest()).decode():  # noqa: S324
            return Reply(400, body=b"<Error><Code>BadDigest</Code></Error>")
        upload.parts[number] = call.body
        return Reply(headers={"ETag": f'"{_md5(call.body)}"'})

    def signed(self, path: str, **query: object) -> str:
        rest = "".join(f"&{key}={value}" for key, value in query.items())
        return f"{self.url}/store/{path}?generation={self._generation}{rest}"

    # the issuer

    def _issuer(self, call: Call) -> Reply:
        if call.path == "/auth/token":
            return self._token({key: values[0] for key, values in parse_qs(call.body.decode()).items()})
        if call.method == "GET":
            return Reply(body=b"<form method=post><input name=code></form>")
        if parse_qs(call.body.decode()).get("code") != [ONE_TIME_CODE]:
            return Reply(401, body=b"wrong code")
        self.challenges["authcode"] = call.query
        location = f"{call.query['redirect_uri']}?code=authcode&state={call.query['state']}"
        return Reply(302, headers={"Location": location})

    def _token(self, form: dict[str, str]) -> Reply:
        asked = self.challenges[form["code"]]
        digest = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if digest != asked["code_challenge"] or form["redirect_uri"] != asked["redirect_uri"]:
            return Reply(400, {"error": "invalid_grant"})
        return Reply(json={"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600})

    # the API

    def _api(self, call: Call) -> Reply:
        first, *rest = [unquote(part) for part in call.path.removeprefix("/api/").split("/")]
        rooms = {
            "me": self._me,
            "uploads": self._uploads,
            "files": self._files,
            "workspaces": self._workspaces,
            "jobs": self._jobs,
        }
        if first in rooms:
            return rooms[first](call, rest)
        defaults = [{"name": "local_epochs", "value": 2}, {"name": "learning_rate", "value": 0.001}]
        fixed = {
            "sign-in": self._sign_in(),
            "offers": {"at": NOW, "offers": self.offers},
            "schema": {"properties": {"training": {"default": {"parameters": defaults}}}},
        }
        return Reply(json=fixed[first]) if first in fixed else refusal(404, "not_found")

    def _me(self, call: Call, rest: list[str]) -> Reply:
        match (call.method, *rest):
            case ("GET",):
                return Reply(json={"user": "u-1", "name": "Ada", "bucket": self.bucket})
            case ("POST", "bucket"):
                self.bucket = "tutti-b"
                return Reply(201, {"name": self.bucket, "endpoint_url": None, "region": "r"})
            case ("POST", "keys"):
                return Reply(201, {"id": "key-1", "label": call.json["label"], "created_at": NOW, "secret": "tutti_new"})
            case ("GET", "keys"):
                return Reply(json={"keys": [{"id": "key-1", "label": "laptop", "created_at": NOW}]})
            case ("DELETE", "keys", _):
                return Reply(204)
        return refusal(404, "not_found")

    def _files(self, call: Call, rest: list[str]) -> Reply:
        if rest == ["delete"]:
            for key in call.json["keys"]:
                del self.objects[key]
            return Reply(json={"deleted": call.json["keys"], "refused": {}})
        found = [self._object(key) for key in sorted(self.objects) if key.startswith(call.query.get("prefix", ""))]
        return Reply(json={"objects": found, "cursor": None})

    def _sign_in(self) -> dict[str, str]:
        return {
            "issuer": f"{self.url}/auth",
            "authorize_url": f"{self.url}/auth/authorize",
            "token_url": f"{self.url}/auth/token",
            "client_id": "console",
            "cli_client_id": "cli",
        }

    def _object(self, key: str) -> dict[str, Any]:
        content = self.objects[key]
        return {"key": key, "size": len(content), "etag": self.etags.get(key, _md5(content)), "modified": NOW}

    def _uploads(self, call: Call, rest: list[str]) -> Reply:
        if not rest:
            upload_id = f"up-{len(self.calls)}"
            self.uploads[upload_id] = OpenUpload(call.json["key"], call.json["size"])
            size, parts = call.json["size"], max(1, -(-call.json["size"] // self.part_size))
            answer = {"id": upload_id, "key": call.json["key"], "size": size, "part_size": self.part_size, "parts": parts}
            return Reply(201, answer)
        upload = self.uploads.get(rest[0])
        if upload is None:
            return refusal(404, "upload_not_found")
        if upload.made is not None and rest[1:] != ["complete"]:
            return refusal(404, "upload_not_found")
        match (call.method, *rest[1:]):
            case ("POST", "sign"):
                urls = [{"number": n, "size": 0, "url": self.signed(f"part/{rest[0]}", part=n)} for n in call.json["numbers"]]
                return Reply(json={"urls": urls, "expires_in_s": self.expiry_s})
            case ("GET", "parts"):
                parts_there = [{"number": n, "size": len(c), "etag": _md5(c)} for n, c in sorted(upload.parts.items())]
                return Reply(json={"parts": parts_there})
            case ("POST", "complete"):
                return self._complete(rest[0], upload)
        del self.uploads[rest[0]]
        return Reply(204)

    def _complete(self, upload_id: str, upload: OpenUpload) -> Reply:
        if upload.made is not None:
            there = self._object(upload.key)
            return Reply(json=there) if there["size"] == upload.size else refusal(404, "upload_not_found")
        parts = [upload.parts[number] for number in sorted(upload.parts)]
        if sum(map(len, parts)) != upload.size:
            return refusal(409, "upload_incomplete")
        digests = b"".join(hashlib.md5(part).digest() for part in parts)  # noqa: S324
        self.objects[upload.key], self.etags[upload.key] = b"".join(parts), f"{_md5(digests)}-{len(parts)}"
        upload.made = self._object(upload.key)
        return Reply(json=upload.made)

    def _workspaces(self, call: Call, rest: list[str]) -> Reply:
        if not rest:
            name = call.json["name"]["name"]
            if name in self.built:
                return refusal(409, "name_taken", suggestion=f"{name}-2")
            return Reply(201, self._build(name))
        match (call.method, *rest):
            case ("GET", name, "built"):
                return Reply(json=self.built[name])
            case ("PUT", name):
                if call.headers.get("If-Match") != self.built[name]["etag"]:
                    return refusal(412, "precondition_failed")
                return Reply(json=self._build(name))
            case ("POST", name, "check"):
                return Reply(json=self._report(name))
        return refusal(404, "not_found")

    def _build(self, name: str) -> dict[str, Any]:
        self.objects.setdefault(f"jobs/{name}/configs/meta.json", b"{}")
        etag = f"built-{len(self.calls)}"
        self.built[name] = {"name": name, "prefix": f"jobs/{name}/", "files": [], "etag": etag}
        return self.built[name]

    def _report(self, name: str) -> dict[str, Any]:
        shards = sum(key.startswith(f"jobs/{name}/shards/") for key in self.objects)
        return {"workspace": name, "counter": 1, "at": NOW, "findings": self.findings, "cards": [], "workers": shards}

    def _jobs(self, call: Call, rest: list[str]) -> Reply:
        match (call.method, *rest):
            case ("POST",):
                token = call.json["client_token"]
                if token not in self.launches:
                    self.job = self.launches[token] = job(workspace=call.json["workspace"], id=f"job-{len(self.launches) + 1:02}")
                return Reply(201, self.launches[token])
            case ("GET",):
                return self._job_page(call.query)
            case ("GET", _, "live"):
                answer = self.script.pop(0)
                self.job = answer.get("job") or self.job
                return Reply(json=answer)
            case ("GET", _, "rounds"):
                return Reply(json={"rounds": [round_row(0)]})
            case ("GET", _, "logs"):
                return self._logs(call.query)
            case ("POST", _, "model"):
                url = self.signed("object/GLOBAL_MODEL.pt")
                size, etag = len(self.model), _md5(self.model)
                return Reply(json={"url": url, "key": "k", "size": size, "etag": etag, "expires_in_s": 60})
            case ("POST", _, "cancel"):
                return Reply(json=self.job or job())
            case ("GET", job_id):
                known = [one for one in (self.job, *self.older) if one.get("id") == job_id]
                return Reply(json=known[0]) if known else refusal(404, "job_not_found", f"there is no job {job_id}")
        return refusal(404, "job_not_found")

    def _job_page(self, query: dict[str, str]) -> Reply:
        """Two jobs a page; the cursor is where the next one begins."""
        wanted = [one for one in (self.job, *self.older) if one and query.get("workspace", one["workspace"]) == one["workspace"]]
        start = int(query.get("cursor", 0))
        return Reply(json={"jobs": wanted[start : start + 2], "cursor": str(start + 2) if len(wanted) > start + 2 else None})

    def _logs(self, query: dict[str, str]) -> Reply:
        """Two pieces a page."""
        after, source = int(query.get("after", 0)), query.get("source")
        page = list(enumerate(self.log_pieces, 1))[after : after + 2]
        found = [
            {"seq": seq, "source": of, "attempt": 1, "number": seq, "url": self.signed(f"log/{seq - 1}"), "lines": 1, "bytes": 1}
            for seq, (of, _) in page
            if source in (None, of)
        ]
        more = len(self.log_pieces) > after + 2
        return Reply(json={"segments": found, "after": page[-1][0] if page else after, "more": more})


def _md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()  # noqa: S324


def _ranged(call: Call, content: bytes) -> Reply:
    """The object, or what is asked of it if it is still the one that was meant."""
    etag = f'"{_md5(content)}"'
    asked = call.headers.get("Range")
    if asked is None:
        return Reply(body=content)
    if call.headers.get("If-Match") != etag:
        return Reply(412)
    return Reply(206, body=content[int(asked.removeprefix("bytes=").removesuffix("-")) :])


def offer(gpu_type: str, *, price: str, free: int) -> dict[str, Any]:
    numbers = {"gpus": 0, "gpu_memory": 0, "vcpu": 1, "ram": 1, "total": 4, "free": free}
    return {"gpu_type": gpu_type, "title": gpu_type, "price_per_hour": price, "owner": "user"} | numbers


def job(**changes: Any) -> dict[str, Any]:
    """A PENDING job of three workers, as the API shows it."""
    return {
        "id": "job-01",
        "workspace": "digits",
        "state": "PENDING",
        "reason": None,
        "ending": None,
        "attempt": 1,
        "workers": 3,
        "minimum": 2,
        "rounds": 1,
        "round": None,
        "rounds_done": 0,
        "joined": 0,
        "lost": 0,
        "gpu_type": "cpu",
        "price_per_hour": "0",
        "created_at": NOW,
        "running_at": None,
        "ended_at": None,
        "start_deadline": NOW,
        "model_key": None,
        "model_size": None,
    } | changes


def round_row(number: int) -> dict[str, Any]:
    metrics = {"site-1": {"loss": 0.5}, "server": {"loss": 0.5}}
    row = {"round": number, "accepted": ["site-1"], "refused": {}, "seconds": 1.0, "samples": {"site-1": 10}}
    return row | {"metrics": metrics}


def ended(state: str, *, reason: dict[str, Any] | None = None, feed: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """The last answer of a live feed."""
    final = job(state=state, rounds_done=1, round=0, reason=reason, running_at=NOW, ended_at="2026-05-01T10:00:09Z", model_size=7)
    items = [{"seq": seq, "at": NOW, "change": change} for seq, change in enumerate(feed, 1)]
    return {"seq": len(items), "job": final, "workers": [], "feed": items, "more": False, "next_in_ms": None}


class Handler(BaseHTTPRequestHandler):
    """HTTP in, ``FakeTutti.answer`` out."""

    protocol_version = "HTTP/1.1"
    tutti: FakeTutti

    def _handle(self) -> None:
        asked = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(asked.query).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {key.title(): value for key, value in self.headers.items()}
        self._reply(self.tutti.answer(Call(self.command, asked.path, query, headers, body)))

    def _reply(self, reply: Reply) -> None:
        if reply.drop:
            self.close_connection = True
            return
        content = reply.body if reply.json is None else json.dumps(reply.json).encode()
        self.send_response_only(reply.status)
        fixed = {"Date": self.date_time_string(), "Content-Length": str(len(content))}
        for name, value in {**fixed, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815 - the base class names them so

    def log_message(self, format: str, *args: object) -> None:
        """Silence."""


class QuietServer(ThreadingHTTPServer):
    """A client that hangs up is nothing to talk about."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Silence."""


@contextmanager
def served(tutti: FakeTutti) -> Iterator[FakeTutti]:
    """The fake on a free port of this machine."""
    server = QuietServer(("127.0.0.1", 0), type("Bound", (Handler,), {"tutti": tutti}))
    tutti.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield tutti
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def client_of(tutti: FakeTutti) -> Iterator[Client]:
    with Client(tutti.url, TOKEN, retries=QUICK, pause=lambda _: None) as client:
        yield client


def workspace_folder(root: Path, *, shards: int = 2) -> Path:
    """A folder that ``tutti run`` understands."""
    (root / "scripts").mkdir(parents=True)
    (root / "shards").mkdir()
    (root / "scripts" / "model_def.py").write_text("class FLModelWrapper: ...\n")
    for number in range(shards):
        (root / "shards" / f"shard_{number}.zip").write_bytes(b"PK" + bytes([number]) * 2500)
    return root


@dataclass
class Typed:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def type_command(*argv: str, home: Path, stdin: str = "", **environ: str) -> Typed:
    """Run the command as from a shell whose home is this folder."""
    out, err = io.StringIO(), io.StringIO()
    homes = {"XDG_CONFIG_HOME": str(home / "config"), "XDG_STATE_HOME": str(home / "state")}
    code = run_command(list(argv), Terminal(io.StringIO(stdin), out, err, homes | environ, QUICK))
    return Typed(code, out.getvalue(), err.getvalue())

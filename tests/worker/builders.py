"""A small real platform for workers under test: the worker API and an object store on one loopback port."""

import io
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import numpy as np
from tutti_worker.launched_copy import CANONICAL_DATA_ROOT

PROJECT = Path(__file__).resolve().parents[2]
SERVER = "server"
Json = dict[str, Any]


@dataclass
class Platform:
    """Accepts one server and its clients, keeps their events, and stores what they put in a folder."""

    folder: Path
    sites: tuple[str, ...]
    rounds: int = 3
    minimum: int = 1
    heartbeat_s: float = 2.0
    assignment_extra: Json = field(default_factory=dict)
    events: dict[str, list[Json]] = field(default_factory=dict)
    arrivals: list[tuple[float, str, Json]] = field(default_factory=list)
    commands: dict[str, list[str]] = field(default_factory=dict)
    superseded: set[str] = field(default_factory=set)
    down_until: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        platform = self

        class Door(_Door):
            host = platform

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.root = f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        """Stop serving."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def path(self, key: str) -> Path:
        """Where an object lies."""
        return self.folder / key

    def url(self, key: str) -> str:
        """A signed URL, as far as a fake signs."""
        return f"{self.root}/store/{quote(key)}?X-Amz-Signature={secrets.token_hex(8)}"

    def put(self, key: str, body: bytes) -> None:
        """Store an object."""
        self.path(key).parent.mkdir(parents=True, exist_ok=True)
        self.path(key).write_bytes(body)

    def of(self, site: str, kind: str) -> list[Json]:
        """The events of one kind a worker has posted."""
        with self.lock:
            return [event for event in self.events.get(site, []) if event["type"] == kind]

    def wait_for(self, site: str, kind: str, timeout_s: float = 120.0, **fields: object) -> Json:
        """The first event of one kind (and with these fields) of a worker, waited for."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            for event in self.of(site, kind):
                if all(event.get(name) == value for name, value in fields.items()):
                    return event
            time.sleep(0.05)
        raise AssertionError(f"{site} never posted {kind} {fields}; it posted {self.events.get(site, [])[-5:]}")

    def log(self, site: str) -> str:
        """Everything a worker has logged."""
        segments = sorted((self.folder / "logs" / site).glob("*.ndjson"), key=lambda path: int(path.stem))
        lines = [json.loads(line) for path in segments for line in path.read_text().splitlines()]
        return "\n".join(line["text"] for line in lines)

    def assignment(self, site: str) -> Json:
        """What this worker shall do."""
        server = next((event["address"] for event in self.of(SERVER, "joined")), None)
        base: Json = {
            "job_id": "job-01test",
            "attempt": 1,
            "role": "server" if site == SERVER else "client",
            "site": site,
            "sites": list(self.sites) if site == SERVER else [site],
            "rounds": self.rounds,
            "minimum": self.minimum,
            "heartbeat_s": self.heartbeat_s,
            "heartbeat_timeout_s": 600,
            "job_zip": self._source("job.zip"),
            "server_address": None if site == SERVER else server,
        }
        if site != SERVER:
            base["shard"] = self._source(f"shards/{site}.zip")
        return {**base, **self.assignment_extra}

    def take(self, site: str, batch: Json) -> Json:
        """Store events; idempotent by number."""
        with self.lock:
            kept = self.events.setdefault(site, [])
            for number, event in enumerate(batch["events"], start=batch["seq"]):
                if number == len(kept) + 1:
                    kept.append(event)
                    self.arrivals.append((time.time(), site, event))
            commands = self.commands.pop(site, [])
            return {"accepted_seq": len(kept), "commands": commands, "next_in_ms": int(self.heartbeat_s * 1000)}

    def signed(self, site: str, wish: Json) -> Json | None:
        """One signed URL; None when the thing is not there."""
        name = wish.get("name", "")
        key = {
            "kit_put": f"kits/{name}.zip",
            "kit_get": f"kits/{site}.zip",
            "log": f"logs/{site}/{name}.ndjson",
            "file": f"files_out/{site}/{name}",
            "round": f"model_out/rounds/round_{name}.pt",
            "model": "model_out/GLOBAL_MODEL.pt",
            "best": "model_out/BEST_MODEL.pt",
            "shard": f"shards/{site}.zip",
            "checkpoint": "checkpoint.pt",
            "job_zip": "job.zip",
        }[wish["kind"]]
        if wish["kind"] == "kit_get" and not self.path(key).exists():
            return None
        return {"kind": wish["kind"], "name": name, "url": self.url(key)}

    def _source(self, key: str) -> Json:
        return {"url": self.url(key), "size": self.path(key).stat().st_size, "name": Path(key).name}


class _Door(BaseHTTPRequestHandler):
    host: Platform
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        if self._away():
            return
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if self.path == "/api/worker/token":
            self._json(200, {"token": "token-of-" + body["code"].removeprefix("code-of-")})
        elif self._site() in self.host.superseded:
            self._json(409, {"error": {"code": "superseded", "message": "another attempt runs"}})
        elif self.path == "/api/worker/events":
            self._json(200, self.host.take(self._site(), body))
        elif self.path == "/api/worker/urls":
            self._urls(body["wishes"])
        else:
            self._json(404, {"error": {"code": "not_found", "message": self.path}})

    def do_GET(self) -> None:
        if self.path == "/api/worker/assignment":
            if not self._away():
                self._json(200, self.host.assignment(self._site()))
            return
        place = self._place()
        if not place.is_file():
            self._answer(404, b"")
            return
        whole = place.read_bytes()
        start = int(self.headers.get("range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        self._answer(206 if start else 200, whole[start:])

    def do_PUT(self) -> None:
        left, place = int(self.headers.get("content-length", 0)), self._place()
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("wb") as file:
            while left and (portion := self.rfile.read(min(left, 1 << 20))):
                left -= file.write(portion)
        self._answer(200, b"")

    def log_message(self, format: str, *args: object) -> None:
        return

    def _urls(self, wishes: list[Json]) -> None:
        signed = [self.host.signed(self._site(), wish) for wish in wishes]
        if None in signed:
            self._json(404, {"error": {"code": "not_found", "message": "the kit is not there yet"}})
        else:
            self._json(200, {"urls": signed})

    def _away(self) -> bool:
        if time.time() < self.host.down_until:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self._json(503, {})
            return True
        return False

    def _place(self) -> Path:
        return self.host.path(unquote(urlsplit(self.path).path).removeprefix("/store/"))

    def _site(self) -> str:
        return str(self.headers.get("authorization", "")).removeprefix("Bearer token-of-")

    def _json(self, status: int, content: Json) -> None:
        self._answer(status, json.dumps(content).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


MODEL_DEF = """
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn


class FLModelWrapper(nn.Module):
    def __init__(self, num_classes=3, **kwargs):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, num_classes))

    def forward(self, x):
        return self.model(x)


def fl_train_model(payload, out_dir, logger):
    env = payload["env"]
    {before}
    shard = np.load(Path(payload["dataset"]["data_root"]) / "train.npz")
    x, y = torch.tensor(shard["x"]), torch.tensor(shard["y"])
    model = FLModelWrapper()
    model.load_state_dict(payload["initial_weights"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        logger({{"epoch": epoch + 1, "of": 2, "loss": loss.item()}})
    Path(out_dir).mkdir(parents=True, exist_ok=True)
    (Path(out_dir) / f"round_{{env['CURRENT_ROUND']}}.txt").write_text(str(loss.item()))
    print("a line of the user's own", env["SITE_NAME"])
    {after}
    return {{"weights": model.state_dict(), "samples": len(x), "loss": loss.item()}}
"""


def model_def(before: str = "pass", after: str = "pass", top: str = "") -> str:
    """A training module with one line more here or there."""
    return top + MODEL_DEF.format(before=before, after=after)


def job_zip(
    sites: int, rounds: int, minimum: int, *, scripts: Mapping[str, str], requirements: str = "", timeout: int = 0
) -> bytes:
    """A launched copy like the platform makes it."""
    job_scripts = PROJECT / "chalicelib" / "job_scripts"
    files = {
        "meta.json": json.dumps({"name": "job", "resource_spec": {}, "min_clients": minimum, "deploy_map": {"app": ["@ALL"]}}),
        "app/config/config_fed_client.json": json.dumps(_client_config()),
        "app/config/config_fed_server.json": json.dumps(_server_config(rounds, minimum, timeout)),
        "app/custom/custom_client_executor.py": (job_scripts / "custom_client_executor.py").read_text(),
        "app/custom/custom_persistor.py": (job_scripts / "custom_persistor.py").read_text(),
        "requirements.txt": requirements,
        **{f"app/custom/{name}": text for name, text in scripts.items()},
    }
    return zip_of(files)


def zip_of(files: Mapping[str, str | bytes]) -> bytes:
    """A zip of these files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return packed.getvalue()


def shard_zip(seed: int, samples: int = 120) -> bytes:
    """A shard with a small synthetic set."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 3, samples)
    x = (draw.normal(size=(samples, 8)) + y[:, None]).astype(np.float32)
    packed = io.BytesIO()
    np.savez(packed, x=x, y=y)
    return zip_of({"train.npz": packed.getvalue()})


def _client_config() -> Json:
    arguments = {"data_root": CANONICAL_DATA_ROOT, "adapter_module": "model_def", "train_fn": "fl_train_model"}
    executor = {"path": "custom_client_executor.GenericClientExecutor", "args": arguments}
    return {
        "format_version": 2,
        "default_task_fetch_interval": 0.1,
        "executors": [{"tasks": ["train"], "executor": executor}],
        "task_data_filters": [],
        "task_result_filters": [],
        "components": [],
    }


def _server_config(rounds: int, minimum: int, timeout: int) -> Json:
    model = {"path": "model_def.FLModelWrapper", "args": {"num_classes": 3}}
    generator = "nvflare.app_common.shareablegenerators.full_model_shareable_generator.FullModelShareableGenerator"
    return {
        "format_version": 2,
        "server": {"heart_beat_timeout": 600, "task_request_interval": 0.1},
        "task_data_filters": [],
        "task_result_filters": [],
        "components": [
            {"id": "persistor", "path": "custom_persistor.CustomPersistor", "args": {"model": model}},
            {"id": "shareable_generator", "path": generator, "args": {}},
            {
                "id": "aggregator",
                "path": "tutti_worker.federation.averaging.OrderedAverage",
                "args": {"expected_data_kind": "WEIGHTS"},
            },
            {"id": "tutti_guard", "path": "tutti_worker.federation.guard.UpdateGuard", "args": {"min_clients": minimum}},
        ],
        "workflows": [
            {
                "id": "scatter_and_gather",
                "path": "tutti_worker.federation.rounds.TuttiScatterAndGather",
                "args": {
                    "min_clients": minimum,
                    "num_rounds": rounds,
                    "start_round": 0,
                    "wait_time_after_min_received": 10,
                    "task_check_period": 0.05,
                    "train_timeout": timeout,
                    "aggregator_id": "aggregator",
                    "persistor_id": "persistor",
                    "shareable_generator_id": "shareable_generator",
                },
            }
        ],
    }


@dataclass
class Running:
    """One worker process."""

    site: str
    process: subprocess.Popen[bytes]
    work: Path
    started: float

    def wait(self, timeout_s: float = 120.0) -> int:
        """Its exit status."""
        return self.process.wait(timeout_s)

    def members(self) -> list[int]:
        """Every process below it right now."""
        import psutil

        try:
            return [child.pid for child in psutil.Process(self.process.pid).children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def job_process(self, timeout_s: float = 120.0) -> int:
        """The pid of the process that runs the user's code, as ``KEEP_PID`` noted it; waits for it."""
        note = self.work / "out" / "pid"
        if not eventually(note.exists, timeout_s):
            raise AssertionError(f"{self.site} never came to train")
        return int(note.read_text())


KEEP_PID = (
    "import os; Path(out_dir, 'pid.new').write_text(str(os.getpid())); Path(out_dir, 'pid.new').rename(Path(out_dir, 'pid'))"
)
"""A line for ``model_def(before=…)`` that notes the training process's pid."""


def start_worker(platform: Platform, site: str, work: Path, environ: Mapping[str, str] | None = None) -> Running:
    """Start ``python -m tutti_worker`` as a backend would."""
    work.mkdir(parents=True)
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("TUTTI_")},
        "PYTHONPATH": os.pathsep.join([str(PROJECT / "worker_image"), str(PROJECT)]),
        "TUTTI_API": f"{platform.root}/api",
        "TUTTI_CODE": f"code-of-{site}",
        "TUTTI_WORK": str(work),
        "TUTTI_HOST": "127.0.0.1",
        **(environ or {}),
    }
    with (work.parent / f"{site}.out").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "tutti_worker"],
            env=env,
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    return Running(site, process, work, time.time())


@contextmanager
def nursery(folder: Path) -> Iterator[dict[str, str]]:
    """A nursery for warm processes; gives the environment that names it."""
    place = folder / "nursery.sock"
    imports = os.pathsep.join([str(PROJECT / "worker_image"), str(PROJECT)])
    process = subprocess.Popen(
        [sys.executable, "-m", "tutti_worker.nursery", str(place)],
        env={**os.environ, "PYTHONPATH": imports},
        stdin=subprocess.DEVNULL,
    )
    try:
        if not eventually(place.exists, 120):
            raise AssertionError("the nursery never opened")
        yield {"TUTTI_NURSERY": str(place)}
    finally:
        process.kill()
        process.wait()


@dataclass
class Federation:
    """A platform with a server and its clients."""

    platform: Platform
    workers: dict[str, Running] = field(default_factory=dict)

    def start(self, folder: Path, environ: Mapping[str, str] | None = None, *, wait_for_server: bool = True) -> None:
        """Start the server, and the clients once it listens, as the state machine does."""
        self.workers[SERVER] = start_worker(self.platform, SERVER, folder / SERVER, environ)
        if wait_for_server:
            self.platform.wait_for(SERVER, "joined")
        for site in self.platform.sites:
            self.workers[site] = start_worker(self.platform, site, folder / site, environ)

    def close(self) -> None:
        """Kill what is left."""
        for worker in self.workers.values():
            if worker.process.poll() is None:
                worker.process.send_signal(signal.SIGKILL)
                worker.process.wait()
        self.platform.close()


def federation(
    folder: Path,
    *,
    clients: int = 2,
    rounds: int = 3,
    minimum: int | None = None,
    code: str | None = None,
    requirements: str = "",
    **extra: Any,
) -> Federation:
    """A platform with a job of ``clients`` shards, not started."""
    sites = tuple(f"site-{number}" for number in range(1, clients + 1))
    least = clients if minimum is None else minimum
    platform = Platform(folder / "store", sites, rounds=rounds, minimum=least, assignment_extra=extra)
    scripts = {"model_def.py": code or model_def()}
    platform.put("job.zip", job_zip(clients, rounds, least, scripts=scripts, requirements=requirements))
    for number, site in enumerate(sites):
        platform.put(f"shards/{site}.zip", shard_zip(number))
    return Federation(platform)


def eventually(condition: Callable[[], bool], timeout_s: float = 10.0) -> bool:
    """True as soon as the condition holds; False when it never did."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def alive(pid: int) -> bool:
    """True while a process runs; a zombie does not."""
    import psutil

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False

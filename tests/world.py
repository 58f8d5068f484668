"""The whole backend over real SQLite records and small in-memory ports, driven through app.py's doors."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chalicelib import bootstrap
from chalicelib.adapters.system import SystemIds
from chalicelib.contracts.account import ApiKeyWish, BucketCredentials, Principal, SignIn
from chalicelib.contracts.files import ObjectInfo
from chalicelib.contracts.worker import Role
from chalicelib.domain.errors import NotSignedIn
from chalicelib.entrypoints.events import look_around, object_changed
from chalicelib.entrypoints.steps import steps_of
from chalicelib.ports import Clock, Compute, ObjectStore, WorkerSpec, Workflow
from chalicelib.services import account, training
from chalicelib.services.training import Steps
from chalicelib.settings import Settings
from local_stack.fleet import LaptopFleet
from local_stack.machine import Machine
from local_stack.records import AccountRecords, JobRecords, Records, ReportRecords
from tests.domain.builders import MODEL_DEF, zip_bytes
from tests.fakes import MemoryClock, MemoryObjectStore


class MemoryBucketKeys:
    """BucketKeys that hand out made-up pairs."""

    def issue(self, bucket: str) -> BucketCredentials:
        return BucketCredentials(
            access_key_id="id", secret_access_key="secret", bucket=bucket, endpoint_url=self.endpoint(), region=self.region()
        )

    def endpoint(self) -> str | None:
        return "http://127.0.0.1:1"

    def region(self) -> str:
        return "us-east-1"


@dataclass
class MemoryCompute:
    """Compute that only remembers; a worker is gone once ``leave`` says so."""

    started: list[WorkerSpec] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    left: set[str] = field(default_factory=set)

    def start(self, spec: WorkerSpec) -> str:
        handle = f"{spec.job_id}/{spec.attempt}/{spec.site}"
        if handle not in [f"{one.job_id}/{one.attempt}/{one.site}" for one in self.started]:
            self.started.append(spec)
        return handle

    def stop(self, handle: str) -> None:
        self.stopped.append(handle)

    def handles(self, job_id: str) -> list[str]:
        everyone = [f"{spec.job_id}/{spec.attempt}/{spec.site}" for spec in self.started if spec.job_id == job_id]
        return [handle for handle in everyone if handle not in self.left]

    def gone(self, handle: str) -> bool:
        return handle in self.left

    def everybody_leaves(self) -> None:
        self.left |= {f"{spec.job_id}/{spec.attempt}/{spec.site}" for spec in self.started}


@dataclass
class MemoryWorkflow:
    """Workflow that remembers what it was told."""

    started: list[str] = field(default_factory=list)
    succeeded: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    statuses: dict[str, str] = field(default_factory=dict)

    def start(self, job_id: str) -> None:
        if job_id not in self.statuses:
            self.started.append(job_id)
            self.statuses[job_id] = "RUNNING"

    def succeed(self, token: str) -> None:
        self.succeeded.append(token)

    def fail(self, token: str, *, error: str, cause: str) -> None:
        self.failed.append((token, error))

    def heartbeat(self, token: str) -> None:
        """Nothing waits here."""

    def status(self, job_id: str) -> str | None:
        return self.statuses.get(job_id)


def refuse(_token: str) -> Principal:
    """A verifier that knows nobody: the tests sign in with API keys."""
    raise NotSignedIn("unknown token")


@dataclass
class Answer:
    """What a door answered."""

    status: int
    body: Any
    headers: dict[str, str]


@dataclass
class World:
    """One installation with its ports at hand."""

    app: bootstrap.App
    objects: MemoryObjectStore
    compute: MemoryCompute
    workflow: MemoryWorkflow
    clock: MemoryClock
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def steps(self) -> Steps:
        return steps_of(self.app)

    def token(self, name: str = "ada") -> str:
        """An API key of this user."""
        if name not in self.tokens:
            user = Principal(user=f"sub-{name}", name=name)
            made = account.make_key(user, ApiKeyWish(), accounts=self.app.accounts, ids=self.app.ids, clock=self.app.clock)
            self.tokens[name] = made.secret
        return self.tokens[name]

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        user: str | None = "ada",
        token: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Knock at a door of app.py, authorizer included."""
        from chalice.test import Client

        from app import app

        given = {"Content-Type": "application/json", **(headers or {})}
        secret = token or (self.token(user) if user else None)
        if secret:
            given["Authorization"] = f"Bearer {secret}"
        with Client(app) as client:
            send = getattr(client.http, method.lower())
            response = send(path, headers=given, body=b"" if body is None else json.dumps(body).encode())
        text = response.body.decode()
        return Answer(response.status_code, json.loads(text) if text else None, dict(response.headers))

    def bucket(self, user: str = "ada") -> str:
        """The user's bucket, created when it is not there."""
        return str(self.call("POST", "/me/bucket", user=user).body["name"])

    def workspace(self, name: str = "digits", *, shards: int = 3, user: str = "ada") -> str:
        """A workspace ready to launch, made through the doors and the bucket; its prefix."""
        bucket = self.bucket(user)
        built = self.call("POST", "/workspaces", {"name": {"name": name}}, user=user).body
        for number in range(shards):
            self.objects.put(bucket, f"{built['prefix']}shards/shard_{number}.zip", zip_bytes("a.npy"))
        self.put(bucket, f"{built['prefix']}scripts/model_def.py", MODEL_DEF)
        return str(built["prefix"])

    def put(self, bucket: str, key: str, data: bytes) -> ObjectInfo:
        """What an upload leaves: the object, and its event."""
        info = self.objects.put(bucket, key, data)
        object_changed(self.app, bucket, key)
        return info

    def launch(self, name: str = "digits", *, client_token: str = "token-0001", user: str = "ada") -> Answer:  # noqa: S107
        """Ask for a launch."""
        return self.call("POST", "/jobs", {"workspace": name, "client_token": client_token}, user=user)

    def launched(self, **changes: Any) -> str:
        """A job that was just launched; its id."""
        self.workspace(**changes)
        return str(self.launch(changes.get("name", "digits"), user=changes.get("user", "ada")).body["id"])

    def start_workers(self, job_id: str) -> dict[str, str]:
        """Run the machine's steps up to training; each site's worker token."""
        plan = training.prepare(job_id, self.steps)
        training.start_server(job_id, "server-task", self.steps)
        sites = plan["sites"]
        assert isinstance(sites, list)
        for site in sites:
            training.start_worker(job_id, site, self.steps)
        return {spec.site: self.redeem(spec.code) for spec in self.compute.started if spec.job_id == job_id}

    def redeem(self, code: str) -> str:
        """The token for a worker's code."""
        answer = self.call("POST", "/worker/token", {"code": code, "nonce": "n" * 16}, user=None)
        return str(answer.body["token"])

    def tell(self, token: str, *events: dict[str, Any], seq: int = 1, attempt: int = 1) -> Answer:
        """Send a batch of events as this worker."""
        body = {"attempt": attempt, "seq": seq, "events": list(events)}
        return self.call("POST", "/worker/events", body, user=None, token=token)

    def running(self, **changes: Any) -> tuple[str, dict[str, str]]:
        """A job that is RUNNING and its workers' tokens; each worker has used event number 1."""
        job_id = self.launched(**changes)
        tokens = self.start_workers(job_id)
        for token in tokens.values():
            self.tell(token, {"type": "joined", "address": "127.0.0.1:9"})
        training.train(job_id, "train-task", self.steps)
        return job_id, tokens

    def show(self, job_id: str, user: str = "ada") -> Any:
        """The job as its owner sees it."""
        return self.call("GET", f"/jobs/{job_id}", user=user).body

    def tick(self, seconds: float = 1) -> None:
        """Time passes, and the clock's door opens."""
        self.clock.pause(seconds)
        look_around(self.app)


SERVER_ROLE = Role.SERVER
SETTINGS = Settings(platform_bucket="tutti-platform", origins=("http://127.0.0.1:1",))


def installation(records: Records, objects: ObjectStore, compute: Compute, workflow: Workflow, clock: Clock) -> bootstrap.App:
    """An App over these records and ports, on a machine with four slots."""
    return bootstrap.App(
        settings=SETTINGS,
        objects=objects,
        bucket_keys=MemoryBucketKeys(),
        jobs=JobRecords(records),
        reports=ReportRecords(records),
        accounts=AccountRecords(records),
        fleet=LaptopFleet(records, Machine(cores=2, ram=8 * 10**9)),
        compute=compute,
        workflow=workflow,
        clock=clock,
        ids=SystemIds(),
        verify=refuse,
        sign_in=SignIn(issuer="i", authorize_url="a", token_url="t", client_id="console", cli_client_id="cli"),
    )


@contextmanager
def world(folder: Path) -> Iterator[World]:
    """A fresh installation; its App is the one app.py serves until the next is made."""
    os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
    records = Records(folder / "records.db")
    objects, compute, workflow, clock = MemoryObjectStore(), MemoryCompute(), MemoryWorkflow(), MemoryClock()
    objects.create_bucket(SETTINGS.platform_bucket, origins=())
    app = installation(records, objects, compute, workflow, clock)
    bootstrap.install(app)
    try:
        yield World(app, objects, compute, workflow, clock)
    finally:
        records.close()

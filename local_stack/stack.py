"""Everything that stands in place of an AWS account, wired up: this machine's composition root."""

import logging
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from chalice.app import Chalice

from chalicelib import bootstrap
from chalicelib.adapters.oidc import OidcVerifier
from chalicelib.adapters.s3 import S3ObjectStore
from chalicelib.adapters.step_functions import StepFunctionsWorkflow, step_functions_client
from chalicelib.adapters.system import SystemClock, SystemIds
from chalicelib.contracts.account import SignIn
from chalicelib.entrypoints.events import after_a_break, look_around
from chalicelib.settings import Settings
from local_stack import half_uploads
from local_stack.bucket_keys import SeaweedBucketKeys
from local_stack.clock import Ticker
from local_stack.compute import LaptopCompute
from local_stack.fleet import LaptopFleet
from local_stack.functions import invoke, report_exit, report_upload
from local_stack.gateway import Gateway
from local_stack.identity import LocalIssuer
from local_stack.inner_door import InnerDoor
from local_stack.machine import this_machine
from local_stack.nursery import Nursery
from local_stack.object_store import REGION, SeaweedFS
from local_stack.ports_file import kept_ports
from local_stack.records import AccountRecords, JobRecords, Records, ReportRecords
from local_stack.state_machine.engine import Engine
from local_stack.store_keeper import StoreKeeper
from local_stack.training_job import ARN, NAME, definition
from local_stack.upload_events import UploadEvents, sweep
from local_stack.worker_environment import Surroundings, python_environment

PROJECT = Path(__file__).resolve().parents[1]
PLATFORM_BUCKET = "tutti-platform"
HOST = "127.0.0.1"
_LOOK_EVERY_S = 1.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Places:
    """The files and folders of one stack's data."""

    data: Path

    @property
    def ports(self) -> Path:
        """The ports, fixed once chosen."""
        return self.data / "ports.json"

    @property
    def records(self) -> Path:
        """Jobs, accounts, reports, leases."""
        return self.data / "records.db"

    @property
    def log(self) -> Path:
        """What the stack and the backend log."""
        return self.data / "stack.log"

    @property
    def identity(self) -> Path:
        """Users, codes and the issuer's key."""
        return self.data / "identity"

    @property
    def running(self) -> Path:
        """Who runs this stack now, for status and down."""
        return self.data / "running.json"


class Stack:
    """One machine's Tutti over one data folder, with the web console built into the folder ``console``.

    ``start`` returns when a user can work; ``stop`` leaves running workers alone.
    """

    def __init__(self, data: Path, port: int = 0, console: Path | None = None) -> None:
        self._console = console
        self.places = Places(data.resolve())
        self.places.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        ports = kept_ports(self.places.ports, ("gateway", "inner"))
        self._port = port or ports["gateway"]
        self._inner_port = ports["inner"]
        self._records = Records(self.places.records)
        self.issuer = LocalIssuer(self.places.identity, f"{self.url}/auth", origin=self.url)
        self._events = UploadEvents(report_upload)
        self._engine = Engine(self.places.data / "state_machine.db", invoke)
        self._inner = InnerDoor(HOST, self._inner_port, self._events, lambda: self._engine.operations)
        self._store = SeaweedFS(self.places.data / "objects", f"{self._inner.url}{self._events.path}")
        self._nursery = self._make_nursery()
        self._compute = self._make_compute()
        self._ticker = Ticker(lambda since: look_around(bootstrap.current_app(), since))
        self._keeper = StoreKeeper(self._store)
        self._half_uploads = Ticker(self._drop_half_uploads, half_uploads.LOOK_EVERY_S)
        self._unswept: Sequence[str] = ()
        self._objects: S3ObjectStore | None = None
        self._gateway: Gateway | None = None

    @property
    def url(self) -> str:
        """Where the console, the API and the issuer are."""
        return f"http://{HOST}:{self._port}"

    @property
    def inner_url(self) -> str:
        """Where the state machine speaks its protocol."""
        return self._inner.url

    @property
    def s3_url(self) -> str:
        """The S3 endpoint for other tools."""
        return self._store.endpoint

    def start(self) -> None:
        """Bring everything up, carry on with what was running, and look for uploads that were missed."""
        self._inner.start()
        self._store.start()
        self._objects = self._store.client()
        self._objects.create_bucket(PLATFORM_BUCKET, origins=())
        # Before the engine: at once it calls the functions that a crash has cut off.
        bootstrap.install(self._app(self._objects, ARN))
        after_a_break(bootstrap.current_app())
        self._nursery.start()
        self._compute.reattach()
        self._engine.start()
        self._engine.operations.install(NAME, definition())
        self._gateway = Gateway(
            _chalice(), issuer=self.issuer, site=self._console, host=HOST, port=self._port, connect=(self._store.endpoint,)
        )
        self._gateway.start()
        self._events.start()
        self._ticker.start()
        self._half_uploads.start()
        self._sweep(self._buckets())

    def stay(self, stopped: threading.Event) -> None:
        """Look after the object store until the stack is to stop: one that ends is brought back, and what was uploaded meanwhile
        is looked for. It cannot be brought back: ObjectStoreDown. To be called from the thread that called ``start``."""
        while not stopped.wait(_LOOK_EVERY_S):
            if self._keeper.look():
                self._sweep(self._buckets())
            elif self._unswept:
                self._sweep(self._unswept)

    def _buckets(self) -> Sequence[str]:
        return tuple(bucket for _, bucket in AccountRecords(self._records).buckets())

    def _drop_half_uploads(self, _since: datetime) -> None:
        if self._objects is not None:
            half_uploads.drop_half_uploads(self._objects, self._buckets(), datetime.now(UTC))

    def _sweep(self, buckets: Sequence[str]) -> None:
        if self._objects is not None:
            self._unswept = sweep(self._objects, buckets, self._events.raise_event)

    def stop(self) -> None:
        """Take everything down but the workers, which wait ten minutes for the stack to come back."""
        self._ticker.stop()
        self._half_uploads.stop()
        if self._gateway is not None:
            self._gateway.stop()
        self._compute.close()
        self._nursery.close()
        self._engine.close()
        self._events.stop()
        self._store.stop()
        self._inner.stop()
        if self._objects is not None:
            self._objects.close()
        self._records.close()

    def _make_nursery(self) -> Nursery:
        surroundings = Surroundings(api_url=f"{self.url}/api", host=HOST, project=PROJECT, environment=dict(os.environ))
        return Nursery(
            self.places.data,
            (sys.executable, "-P", "-m", "tutti_worker.nursery"),
            python_environment(surroundings),
            busy=self._has_workers,
        )

    def _has_workers(self) -> bool:
        return self._compute.is_busy()

    def _make_compute(self) -> LaptopCompute:
        fleet = LaptopFleet(self._records, this_machine())
        return LaptopCompute(
            self.places.data / "work",
            f"{self.url}/api",
            Path(sys.executable),
            report_exit,
            environment=dict(os.environ),
            project=PROJECT,
            devices=fleet.visible_devices,
            nursery=self._nursery.want,
            host=HOST,
        )

    def _app(self, objects: S3ObjectStore, machine_arn: str) -> bootstrap.App:
        issuer = self.issuer
        origins = (self.url, self.url.replace(HOST, "localhost"))
        return bootstrap.App(
            settings=Settings.from_env(
                region=REGION,
                platform_bucket=PLATFORM_BUCKET,
                origins=origins,
                issuer=issuer.issuer,
                heartbeat_s=5,
                shared_cores=this_machine().cores,
            ),
            objects=objects,
            bucket_keys=SeaweedBucketKeys(self._store),
            jobs=JobRecords(self._records),
            reports=ReportRecords(self._records),
            accounts=AccountRecords(self._records),
            fleet=LaptopFleet(self._records, this_machine()),
            compute=self._compute,
            workflow=StepFunctionsWorkflow(step_functions_client(region=REGION, endpoint_url=self._inner.url), machine_arn),
            clock=SystemClock(),
            ids=SystemIds(),
            verify=OidcVerifier(issuer.issuer, ("console", "cli"), issuer.jwks),
            sign_in=SignIn(
                issuer=issuer.issuer,
                authorize_url=f"{issuer.issuer}/authorize",
                token_url=f"{issuer.issuer}/token",
                client_id="console",
                cli_client_id="cli",
            ),
        )


def _chalice() -> Chalice:
    from app import app

    return app

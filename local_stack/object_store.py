"""The S3 of the laptop: SeaweedFS as a child process, on loopback only."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from chalicelib.adapters.s3 import S3ObjectStore, s3_client
from chalicelib.domain.errors import BucketNotFound, FLError
from local_stack.child_process import ChildRecord, end
from local_stack.disk import RESERVE
from local_stack.disk_aware_store import DiskAwareStore
from local_stack.ports_file import is_free, kept_ports
from local_stack.private_files import write_private
from local_stack.store_identities import KeyPair, StoreIdentities

REGION = "us-east-1"
_PORTS = ("master", "master_grpc", "volume", "volume_grpc", "filer", "filer_grpc", "s3", "s3_grpc")
_READY_WITHIN_S = 60.0
_LOG_KEPT = 10 * 2**20
_VOLUMES = 2_000  # files of at most 1 GiB each, of which a bucket has at least one; by default only as many as fit the disk
_TRIES_OF_NEW_PORTS = 3
"""Ports that were just found free may be taken by another stack before they are bound."""
PROBE_BUCKET = "tutti-probe"
_EIGHT_STORES = "filerldb2"
"""SeaweedFS's default folder of names: eight databases with a buffer of 16 MB each. Older data folders have it."""
_GRACE_S = 1.5  # it would take 17 s to leave by itself; killed after this it has lost nothing


class ObjectStoreDown(Exception):
    """SeaweedFS is not running or did not come up; the message ends with the last lines of its log."""


class StorePortTaken(ObjectStoreDown):
    """Another program holds one of its ports."""


class SeaweedFS:
    """One SeaweedFS over one data folder. Ports and keys are made on first use and kept in the folder."""

    def __init__(self, data: Path, webhook_url: str) -> None:
        self.data = data.resolve()
        self.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._webhook_url = webhook_url
        self._ports_file = self.data / "ports.json"
        self._are_ports_new = not self._ports_file.exists()
        self._ports = kept_ports(self._ports_file, _PORTS)
        self._record = ChildRecord(self.data / "process.json")
        self._process: subprocess.Popen[bytes] | None = None
        self.identities = StoreIdentities(self.data / "identities.json")
        self.log = self.data / "seaweedfs.log"

    @property
    def endpoint(self) -> str:
        """The address of the S3 protocol; the same after every restart, and settled by the first start."""
        return f"http://127.0.0.1:{self._ports['s3']}"

    @property
    def admin(self) -> KeyPair:
        """The platform's keys, which open every bucket."""
        return self.identities.platform()

    def start(self) -> None:
        """Start it and return when objects can be written. To be called from the main thread, with whose end it ends.

        A child left over from a stack that was killed is ended first. Not up within 60 s: ObjectStoreDown.
        """
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("the object store ends with the thread that starts it, so only the main thread may")
        self._record.end_left_over(_GRACE_S)
        for _ in range(_TRIES_OF_NEW_PORTS):
            try:
                return self._start()
            except StorePortTaken:
                if not self._are_ports_new:
                    raise
                self._ports_file.unlink(missing_ok=True)
                self._ports = kept_ports(self._ports_file, _PORTS)
        return self._start()

    def _start(self) -> None:
        self._refuse_taken_ports()
        self._write_settings()
        self._process = self._spawn()
        self._record.write(self._process.pid)
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise
        self._are_ports_new = False

    def stop(self) -> None:
        """End it: asked, and killed 1.5 s later. Silent when it does not run."""
        if self._process is not None:
            end(self._process, _GRACE_S)
            self._process = None
            self._record.forget()
        for name in ("filer.sock", "s3.sock"):
            (self.data / name).unlink(missing_ok=True)
        for name in ("master", "volume", "filer", "s3"):  # its sockets outlive it in a place that cannot be chosen
            port = self._ports[f"{name}_grpc"]
            (Path(tempfile.gettempdir()) / f"seaweedfs-{name}-grpc-{port}.sock").unlink(missing_ok=True)

    def is_running(self) -> bool:
        """Whether the child lives."""
        return self._process is not None and self._process.poll() is None

    def reload(self) -> None:
        """Make it read the identities again; a request a moment later sees them. Not running: ObjectStoreDown."""
        if self._process is None or self._process.poll() is not None:
            raise ObjectStoreDown("the object store is not running")
        self._process.send_signal(signal.SIGHUP)

    def client(self, keys: KeyPair | None = None) -> S3ObjectStore:
        """A store that signs with these keys, the platform's by default. The caller closes it."""
        pair = keys or self.admin
        return DiskAwareStore(
            s3_client(
                endpoint_url=self.endpoint,
                region=REGION,
                access_key=pair.access_key,
                secret_key=pair.secret_key,
                path_style=True,
            ),
            self.data,
        )

    def _refuse_taken_ports(self) -> None:
        taken = [str(port) for port in self._ports.values() if not is_free(port)]
        if taken:
            raise StorePortTaken(
                f"port {', '.join(taken)} is held by another program; end it, or delete {self._ports_file} "
                "to have new ones chosen"
            )

    def _write_settings(self) -> None:
        self.identities.platform()
        write_private(self.data / "notification.toml", _notification(self._webhook_url))
        # By default a bucket's first object claims seven volumes; three serve parallel parts as well.
        write_private(self.data / "master.toml", "[master.volume_growth]\ncopy_1 = 3\n")
        if not self._has_eight_stores():
            write_private(self.data / "filer.toml", '[leveldb]\nenabled = true\ndir = "./names"\n')
        if self.log.exists() and self.log.stat().st_size > _LOG_KEPT:
            self.log.replace(self.log.with_suffix(".log.1"))

    def _has_eight_stores(self) -> bool:
        return (self.data / _EIGHT_STORES).exists()

    def _spawn(self) -> subprocess.Popen[bytes]:
        tether = Path(__file__).with_name("tether.py")
        own_pid = str(os.getpid())
        command = [sys.executable, "-I", "-S", str(tether), own_pid, _program(), *_arguments(self._ports)]
        # Nothing of the caller's environment: AWS_ACCESS_KEY_ID there would become an admin's key, WEED_* a setting.
        # A limit makes it give back what an upload once needed; one below what it always holds (120 MB, or 260) would make it
        # collect garbage without end, at a sixth of a processor.
        limit = "300MiB" if self._has_eight_stores() else "200MiB"
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.data), "GOMEMLIMIT": limit, "GOGC": "50"}
        with self.log.open("ab") as log:
            return subprocess.Popen(command, cwd=self.data, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _READY_WITHIN_S
        probe = self.client()
        try:
            while not self._answers(probe):
                if not self.is_running():
                    lines = self._last_lines()
                    kind = StorePortTaken if "address already in use" in lines else ObjectStoreDown
                    raise kind(f"the object store ended while starting:\n{lines}")
                if time.monotonic() > deadline:
                    raise ObjectStoreDown(f"the object store is not up after 60 s:\n{self._last_lines()}")
                time.sleep(0.1)
        finally:
            probe.close()

    def _answers(self, probe: S3ObjectStore) -> bool:
        if is_free(self._ports["s3"]):
            return False
        try:
            if not self._has_probe_bucket(probe):
                probe.create_bucket(PROBE_BUCKET, origins=())
            # Written and read back: after a restart it answers for a moment before its volumes are found again.
            probe.put(PROBE_BUCKET, "probe", b"up")
            return probe.read(PROBE_BUCKET, "probe") == b"up"
        except FLError:
            return False

    def _has_probe_bucket(self, probe: S3ObjectStore) -> bool:
        try:
            probe.list(PROBE_BUCKET, limit=1)
        except BucketNotFound:
            return False
        return True

    def _last_lines(self, count: int = 15) -> str:
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-count:])


def _program() -> str:
    beside = Path(sys.executable).with_name("weed")
    found = str(beside) if beside.exists() else shutil.which("weed")
    if not found:
        raise ObjectStoreDown("the program 'weed' is not installed; run: make install")
    return found


def _arguments(ports: dict[str, int]) -> list[str]:
    """Paths are relative to the data folder: a socket's path may have only 108 letters."""
    listen = [
        *(f"-{part}.port={ports[part]}" for part in ("master", "volume", "filer", "s3")),
        *(f"-{part}.port.grpc={ports[f'{part}_grpc']}" for part in ("master", "volume", "filer", "s3")),
    ]
    return [
        "-logtostderr=true",
        "server",
        "-dir=.",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        *listen,
        "-master.telemetry=false",  # the default phones home
        "-master.electionTimeout=1s",  # the default makes a restart take 20 s
        "-master.heartbeatInterval=100ms",
        "-master.volumeSizeLimitMB=1024",
        f"-volume.max={_VOLUMES}",
        "-volume.preStopSeconds=1",
        f"-volume.minFreeSpace={RESERVE >> 20}MiB",  # the default is a hundredth of the disk, however large
        "-filer=true",
        "-filer.disableHttp=true",  # its HTTP port would read and write everything without credentials
        "-filer.localSocket=filer.sock",
        "-s3",
        "-s3.config=identities.json",
        "-s3.localSocket=s3.sock",
        "-s3.iam=false",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
    ]


def _notification(webhook_url: str) -> str:
    return f"""[notification.webhook]
enabled = true
endpoint = {json.dumps(webhook_url)}
timeout_seconds = 5
max_retries = 10
event_types = ["create", "update", "delete"]
path_prefixes = ["/buckets/"]
"""

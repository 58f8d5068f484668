"""A federation as NVFLARE's documentation makes one by hand: its provisioning, its start scripts, its API. Nothing of Tutti."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ADMIN = "lead@lab.org"
SITES = ("site-1", "site-2")
LEAVES_WITHIN_S = 20
SUBMIT = """
import json, sys, time
from nvflare.fuel.flare_api.flare_api import new_secure_session

kit, job, sites, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
session = new_secure_session("lead@lab.org", kit, timeout=120)
while len(session.get_system_info().client_info) < sites:
    time.sleep(0.5)
job_id = session.submit_job(job)
ended = session.monitor_job(job_id, timeout=seconds, poll_interval=1)
status, result = session.get_job_meta(job_id)["status"], session.download_job_result(job_id)
print(json.dumps({"ended": str(ended), "status": status, "result": result}))
session.close()
"""
"""NVFLARE's own way to run a job, in a process of its own: it keeps threads and connections for as long as that lives."""


@dataclass(frozen=True)
class Ended:
    """How NVFLARE says a job ended, and the files of the server's run."""

    status: str
    files: Path

    def model(self) -> Path:
        """The one saved global model."""
        [found] = self.files.rglob("GLOBAL_MODEL.pt")
        return found


@dataclass(frozen=True)
class Federation:
    """A running server and two clients."""

    kits: Path

    def run(self, job: Path, *, within_s: float) -> Ended:
        """Submit a job folder and wait for its end."""
        kit = self.kits / ADMIN
        command = [sys.executable, "-c", SUBMIT, str(kit), str(job), str(len(SITES)), str(within_s)]
        done = subprocess.run(
            command, env=plain_environment(), cwd=self.kits, capture_output=True, text=True, timeout=within_s + 120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr + self.logs()
        said = json.loads(done.stdout.splitlines()[-1])
        assert said["status"] == "FINISHED:COMPLETED", str(said) + self.logs()
        return Ended(said["status"], Path(said["result"]))

    def logs(self) -> str:
        """The last words of every process."""
        return "".join(f"\n== {path.stem}\n{path.read_text()[-4000:]}" for path in sorted(self.kits.glob("*.log")))


@contextmanager
def federation(folder: Path) -> Iterator[Federation]:
    """A server and two clients over mutual TLS, provisioned and started by NVFLARE's own tools; gone at the end."""
    kits = provision(folder)
    processes = [start(kits, name) for name in ("localhost", *SITES)]
    try:
        yield Federation(kits)
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGTERM)
        for process in processes:
            leave(process)


def provision(folder: Path) -> Path:
    """The folder of the kits."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder.mkdir(parents=True)
    (folder / "project.yml").write_text(json.dumps(project(port)))  # JSON is YAML
    command = [sys.executable, "-m", "nvflare.lighter.provision", "-p", str(folder / "project.yml"), "-w", str(folder / "made")]
    subprocess.run(command, env=plain_environment(), cwd=folder, check=True, capture_output=True, timeout=120)
    kits = folder / "made/by-hand/prod_00"
    for part in ("localhost", *SITES):
        own_store(kits / part / "local", folder / "store")
    return kits


def project(port: int) -> dict[str, Any]:
    """What ``nvflare provision`` asks for."""
    server = {"name": "localhost", "type": "server", "org": "lab", "fed_learn_port": port, "admin_port": port}
    clients = [{"name": site, "type": "client", "org": "lab"} for site in SITES]
    admin = {"name": ADMIN, "type": "admin", "org": "lab", "role": "project_admin"}
    builders: list[dict[str, Any]] = [
        {"path": "nvflare.lighter.impl.workspace.WorkspaceBuilder"},
        {"path": "nvflare.lighter.impl.static_file.StaticFileBuilder", "args": {"config_folder": "config", "scheme": "tcp"}},
        {"path": "nvflare.lighter.impl.cert.CertBuilder"},
        {"path": "nvflare.lighter.impl.signature.SignatureBuilder"},
    ]
    participants = [server, *clients, admin]
    return {"api_version": 3, "name": "by-hand", "participants": participants, "builders": builders}


def own_store(local: Path, store: Path) -> None:
    """NVFLARE's default is one folder for all servers of a machine; resources.json is where one changes it."""
    default = (local / "resources.json.default").read_text()
    (local / "resources.json").write_text(default.replace("/tmp/nvflare", str(store)))  # noqa: S108


def start(kits: Path, name: str) -> subprocess.Popen[bytes]:
    """The kit's own start script, in a session of its own."""
    script = kits / name / "startup" / "sub_start.sh"
    with (kits / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            ["bash", str(script), "--once"], env=plain_environment(), cwd=kits, stdout=log, stderr=log, start_new_session=True
        )


def leave(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process, and end what does not go."""
    try:
        process.wait(LEAVES_WITHIN_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def plain_environment() -> dict[str, str]:
    """What a shell with the virtual environment has, and nothing of this project."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TUTTI_", "PYTHON", "PYTEST"))}
    return kept | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}

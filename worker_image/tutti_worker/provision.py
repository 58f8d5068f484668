"""Startup kits for exactly one job: a certificate authority of its own, mTLS, no admin."""

import json
import shutil
import socket
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

SERVER_NAME = "server"
ORGANISATION = "tutti"
_PROJECT = "tutti"
_VALID_DAYS = 30
_HEARTBEAT_TIMEOUT_S = 20
_MOST_CLIENTS = 100_000

Json = dict[str, Any]


def free_port(host: str) -> int:
    """A port nobody listens on at ``host`` right now."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def provision(folder: Path, host: str, port: int, sites: Iterable[str]) -> dict[str, Path]:
    """Make a kit for the server and one for each site below ``folder``; returns site name → kit folder.

    The root key does not outlive this call: nobody can add a participant to the job later.
    """
    from nvflare.lighter.constants import CtxKey
    from nvflare.lighter.entity import Project
    from nvflare.lighter.impl.cert import CertBuilder
    from nvflare.lighter.impl.signature import SignatureBuilder
    from nvflare.lighter.impl.static_file import StaticFileBuilder
    from nvflare.lighter.impl.workspace import WorkspaceBuilder
    from nvflare.lighter.provisioner import Provisioner

    project = Project(_PROJECT, "one Tutti job", props={"api_version": 3})
    ports = {"fed_learn_port": port, "admin_port": port, "default_host": host, "host_names": [host]}
    project.set_server(SERVER_NAME, ORGANISATION, ports)
    names = list(sites)
    for site in names:
        project.add_client(site, ORGANISATION, {})
    builders = [
        WorkspaceBuilder(),
        StaticFileBuilder(config_folder="config", scheme="tcp", require_signed_jobs=False),
        CertBuilder(root_valid_days=_VALID_DAYS),
        SignatureBuilder(),
    ]
    context = Provisioner(str(folder), builders).provision(project)
    if context.get(CtxKey.BUILD_ERROR):
        raise RuntimeError("NVFLARE could not make the startup kits")
    made = Path(context[CtxKey.CURRENT_PROD_DIR])
    shutil.rmtree(folder / _PROJECT / "state", ignore_errors=True)
    return {name: made / name for name in (SERVER_NAME, *names)}


def tune_server(kit: Path, *, host: str, port: int, job: Path, sites: Sequence[str], store: Path) -> None:
    """Point the server's kit at this job: own stores, short intervals, forked jobs, the job submitted by itself."""
    startup = kit / "startup" / "fed_server.json"
    settings = _read(startup)
    for entry in settings["servers"]:
        entry["service"]["target"] = f"{host}:{port}"
    _write(startup, settings)
    resources = _read(kit / "local" / "resources.json.default")
    resources["servers"][0].update(heart_beat_timeout=_HEARTBEAT_TIMEOUT_S, max_num_clients=_MOST_CLIENTS)
    resources["snapshot_persistor"]["args"]["storage"]["args"]["root_dir"] = str(store / "snapshots")
    submit = {"job_folder": str(job), "sites": list(sites), "address": f"{host}:{port}"}
    resources["components"] = [
        *_server_components(resources["components"], store),
        {"id": "auto_submit", "path": "tutti_worker.federation.auto_submit.AutoSubmit", "args": submit},
    ]
    _write(kit / "local" / "resources.json", resources)
    _quiet_logs(kit)


def tune_client(kit: Path) -> None:
    """Short intervals, forked jobs, no log streaming to the server, and a word to the supervisor on joining."""
    resources = _read(kit / "local" / "resources.json.default")
    resources["client"]["client_register_interval"] = 0.2
    resources["allow_log_streaming"] = False
    kept = [part for part in resources["components"] if part["id"] != "site_log_streamer"]
    for part in kept:
        if part["id"] == "process_launcher":
            part["path"] = "tutti_worker.federation.launchers.ClientForkLauncher"
    joined = {"id": "joined", "path": "tutti_worker.federation.joined.Joined", "args": {}}
    resources["components"] = [*kept, joined]
    _write(kit / "local" / "resources.json", resources)
    _quiet_logs(kit)


def aim_client(kit: Path, address: str) -> None:
    """Have a client's kit connect to ``host:port``, which may be another than the server's own name for itself."""
    startup = kit / "startup" / "fed_client.json"
    settings = _read(startup)
    for entry in settings["servers"]:
        entry["service"]["target"] = address
    _write(startup, settings)


def pack_kit(kit: Path, target: Path) -> None:
    """Zip what a client needs of its kit: startup and local."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(kit.rglob("*")):
            if path.is_file() and path.relative_to(kit).parts[0] in ("startup", "local"):
                packed.write(path, path.relative_to(kit).as_posix())


def main(argv: Sequence[str]) -> int:
    """Provision in a forked process: work folder, host, port, job folder, kit folder of the server, sites …

    Leaves one zip for each site in ``<work folder>/kits``.
    """
    work, host, port, job, own, *sites = argv
    made = provision(Path(work) / "provision", host, int(port), sites)
    shutil.move(made[SERVER_NAME], own)
    (Path(own) / "transfer").mkdir(exist_ok=True)
    tune_server(Path(own), host=host, port=int(port), job=Path(job), sites=sites, store=Path(work) / "store")
    kits = Path(work) / "kits"
    kits.mkdir(parents=True, exist_ok=True)
    for site in sites:
        tune_client(made[site])
        pack_kit(made[site], kits / f"{site}.zip")
    shutil.rmtree(Path(work) / "provision")
    return 0


def _server_components(components: list[Json], store: Path) -> list[Json]:
    for part in components:
        if part["id"] == "job_manager":
            part["args"]["uri_root"] = str(store / "jobs")
        elif part["id"] == "job_scheduler":
            part["args"].update(min_schedule_interval=0.2, max_schedule_interval=1.0, max_schedule_count=1_000_000)
        elif part["id"] == "process_launcher":
            part["path"] = "tutti_worker.federation.launchers.ServerForkLauncher"
    return [part for part in components if part["id"] != "log_receiver"]


def _quiet_logs(kit: Path) -> None:
    """Everything goes to standard output, from where the supervisor ships it; no log file grows on the disk."""
    line = "%(asctime)s - %(name)s - %(levelname)s - %(message)s"
    console = {"class": "logging.StreamHandler", "level": "DEBUG", "formatter": "line", "stream": "ext://sys.stdout"}
    config = {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": "logging.Formatter", "fmt": line}},
        "handlers": {"console": console},
        "loggers": {"root": {"level": "INFO", "handlers": ["console"]}},
    }
    _write(kit / "local" / "log_config.json", config)


def _read(path: Path) -> Json:
    parsed: Json = json.loads(path.read_text())
    return parsed


def _write(path: Path, content: Json) -> None:
    path.write_text(json.dumps(content, indent=1))

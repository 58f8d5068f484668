"""Run as a program: let NVFLARE itself build everything in the two configs of an app folder, and print what it built as JSON."""

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from nvflare.private.fed.client.client_json_config import ClientJsonConfigurator
from nvflare.private.fed.server.server_json_config import ServerJsonConfigurator


class AnyFolder:
    """Every folder of NVFLARE's workspace is this one; only its paths are asked for."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self._folder


def read(app: Path) -> dict[str, Any]:
    """The classes and numbers NVFLARE has after it has configured both sides."""
    sys.path.insert(0, str(app / "custom"))
    args = Namespace(set=[], config_folder="config", job_id="j", client_name="site-1", root_url="u",
                           sp_scheme="tcp", sp_target="t", workspace="w", secure_train=False)  # fmt: skip
    built = []
    for kind, name in ((ServerJsonConfigurator, "config_fed_server.json"), (ClientJsonConfigurator, "config_fed_client.json")):
        configurator = kind(AnyFolder(str(app)), str(app / "config" / name), args, str(app))
        configurator.configure()
        built.append(configurator)
    server, client = built
    return {
        "heartbeat": server.heartbeat_timeout,
        "workflow": type(server.workflows[0].controller).__name__,
        "components": {id: type(component).__name__ for id, component in server.components.items()},
        "tasks": client.executors[0].tasks,
        "executor": type(client.executors[0].executor).__name__,
    }


if __name__ == "__main__":
    print(json.dumps(read(Path(sys.argv[1]))))

"""A workspace's folder laid out as a job of NVFLARE, for a federation of one's own."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tutti_fl.errors import TuttiError
from tutti_fl.export_configs import CLIENT, META, SERVER, Config, client_config, data_root_of, meta, server_config
from tutti_fl.folder import Folder, read_folder

EVERY_SITE = "@ALL"


@dataclass
class Exported:
    """What was laid out, and how its configs differ from the workspace's."""

    out: Path
    scripts: int
    checkpoint: str | None
    data_roots: dict[str, str | None]
    """Where each site, or ``@ALL`` of them, looks for its data; None when its executor's own code decides."""
    differences: list[str] = field(default_factory=list)


def export_job(root: Path, out: Path, data_roots: Mapping[str, str] | None = None) -> Exported:
    """Lay the workspace in ``root`` out as an NVFLARE job in the new folder ``out``; scripts keep every byte.

    ``data_roots`` gives sites a data_root of their own (and the job an app for each), or ``@ALL`` of them one. TuttiError when
    ``out`` exists, a config is missing or wrong, or model/ holds more than one checkpoint.
    """
    folder = read_folder(root)
    roots = dict(data_roots or {})
    configs = {name: Config.read(root, name) for name in (CLIENT, SERVER, META)}
    checkpoint = _checkpoint(folder)
    if out.exists():
        raise TuttiError("out_exists", f"{out} is there already", "Delete it, or name another folder with --out.")
    job = _Job(folder, configs, out, checkpoint)
    server = server_config(configs[SERVER], checkpoint.name if checkpoint else None)
    if set(roots) <= {EVERY_SITE}:
        client = client_config(configs[CLIENT], roots.get(EVERY_SITE))
        job.app("app", {SERVER: server, CLIENT: client}, with_checkpoint=True)
        job.done({"app": [EVERY_SITE]})
        return job.exported({EVERY_SITE: data_root_of(client)})
    job.app("app_server", {SERVER: server}, with_checkpoint=True)
    for site, data_root in roots.items():
        job.app(f"app_{site}", {CLIENT: client_config(configs[CLIENT], data_root)})
    job.done({"app_server": ["server"]} | {f"app_{site}": [site] for site in roots})
    return job.exported({**roots})


def _checkpoint(folder: Folder) -> Path | None:
    found = [path for name, path in folder.files.items() if name.startswith("model/")]
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise TuttiError("many_checkpoints", f"model/ holds {len(found)} .pt files: {names}", "Keep the one to start from.")
    return found[0] if found else None


@dataclass
class _Job:
    """The folder as it is written."""

    folder: Folder
    configs: dict[str, Config]
    out: Path
    checkpoint: Path | None
    differences: list[str] = field(default_factory=list)

    def app(self, name: str, values: Mapping[str, dict[str, object]], *, with_checkpoint: bool = False) -> None:
        config, custom = self.out / name / "config", self.out / name / "custom"
        config.mkdir(parents=True)
        for file, value in values.items():
            self._write(file, value, config / file)
        for path, source in self._scripts().items():
            target = custom / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        if with_checkpoint and self.checkpoint:
            shutil.copyfile(self.checkpoint, custom / self.checkpoint.name)

    def done(self, deploy_map: Mapping[str, list[str]]) -> None:
        self._write(META, meta(self.configs[META], self.folder.root.resolve().name, deploy_map), self.out / META)

    def exported(self, data_roots: dict[str, str | None]) -> Exported:
        checkpoint = self.checkpoint.name if self.checkpoint else None
        return Exported(self.out, len(self._scripts()), checkpoint, data_roots, self.differences)

    def _scripts(self) -> dict[str, Path]:
        return {name.removeprefix("scripts/"): path for name, path in self.folder.files.items() if name.startswith("scripts/")}

    def _write(self, name: str, value: dict[str, object], path: Path) -> None:
        text = self.configs[name].written(value)
        path.write_bytes(text.encode())
        self.differences += self.configs[name].difference(text)

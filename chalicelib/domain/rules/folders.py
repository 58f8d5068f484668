"""The folders a job cannot do without."""

from collections.abc import Iterator

from chalicelib.contracts.report import Finding
from chalicelib.domain.findings import error
from chalicelib.domain.snapshot import WorkspaceSnapshot

_HOLDS = {
    "scripts": "your model_def.py and the generated executor and persistor",
    "configs": "the three generated JSON files",
    "requirements": "requirements.txt, the pip packages every worker installs",
}


def required_folders_hold_files(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """A job needs its scripts, configs and requirements; the shards have a rule of their own."""
    for folder, holds in _HOLDS.items():
        if not ws.folder(folder):
            message = f"the folder {folder}/ holds no file"
            yield error("folder_empty", message, path=f"{folder}/", hint=f"It needs {holds}.")

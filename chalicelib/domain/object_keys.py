"""Where things lie in the user's bucket and in the platform's: the one place that spells a key."""

from chalicelib.contracts.workspace import INPUT_FOLDERS

JOBS = "jobs/"


def workspace(name: str) -> str:
    """The folder of a workspace, with its closing slash."""
    return f"{JOBS}{name}/"


def workspace_of(key: str) -> tuple[str, str] | None:
    """(workspace, path inside it) of a key under ``jobs/<name>/``; None elsewhere and for folder markers."""
    if not key.startswith(JOBS) or key.endswith("/"):
        return None
    name, _, path = key.removeprefix(JOBS).partition("/")
    return (name, path) if name and path else None


def is_input(path: str) -> bool:
    """Whether a path of a workspace lies directly or deeper in one of its five input folders."""
    return path.partition("/")[0] in INPUT_FOLDERS and "/" in path


def guarded(name: str, job_id: str) -> tuple[str, ...]:
    """The folders that a running job of the workspace reads or writes."""
    return (*(f"{workspace(name)}{folder}/" for folder in INPUT_FOLDERS), files_out(name, job_id), model_out(name, job_id))


def files_out(name: str, job_id: str) -> str:
    """The folder of a job's files in its workspace."""
    return f"{workspace(name)}files_out/{job_id}/"


def model_out(name: str, job_id: str) -> str:
    """The folder of a job's models in its workspace."""
    return f"{workspace(name)}model_out/{job_id}/"


def log_segment(name: str, job_id: str, attempt: int, source: str, number: int) -> str:
    """One piece of one worker's log."""
    return f"{files_out(name, job_id)}logs/attempt-{attempt}/{source}/{number}.ndjson"


def job_model(name: str, job_id: str) -> str:
    """The model of one job."""
    return f"{model_out(name, job_id)}GLOBAL_MODEL.pt"


def best_model(name: str, job_id: str) -> str:
    """The best model of one job, when a metric says which."""
    return f"{model_out(name, job_id)}BEST_MODEL.pt"


def round_model(name: str, job_id: str, number: int) -> str:
    """The model after one round, counted from 0."""
    return f"{model_out(name, job_id)}rounds/round_{number}.pt"


def newest_model(name: str) -> str:
    """The model of the workspace's last FINISHED job."""
    return f"{workspace(name)}model_out/GLOBAL_MODEL.pt"


def metrics(name: str, job_id: str) -> str:
    """All numbers of a job, per round and worker."""
    return f"{files_out(name, job_id)}metrics.json"


def run(job_id: str) -> str:
    """The platform's own folder of a job, in the platform bucket."""
    return f"runs/{job_id}/"


def launched_zip(job_id: str, attempt: int) -> str:
    """The launched copy, in the platform bucket."""
    return f"{run(job_id)}attempt-{attempt}/job.zip"


def launch_record(job_id: str) -> str:
    """The shards and checkpoint frozen at launch, in the platform bucket."""
    return f"{run(job_id)}launch.json"


def launched_view(job_id: str) -> str:
    """The launched files with their difference from the workspace's, in the platform bucket."""
    return f"{run(job_id)}launched.json"


def kits(job_id: str) -> str:
    """All kits of a job, in the platform bucket; deleted at Release."""
    return f"{run(job_id)}kits/"


def kit(job_id: str, attempt: int, site: str) -> str:
    """One worker's kit, in the platform bucket."""
    return f"{kits(job_id)}attempt-{attempt}/{site}.zip"


def generated_record(owner: str, name: str) -> str:
    """Which files the platform generated and with which content, in the platform bucket."""
    return f"workspaces/{owner}/{name}/generated.json"

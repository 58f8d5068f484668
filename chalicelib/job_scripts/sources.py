"""The texts of the files every job gets."""

from importlib.resources import files

NAMES = ("custom_client_executor.py", "custom_persistor.py", "model_def_starter.py")


def sources() -> dict[str, str]:
    """File name → text of the executor, the persistor and the starter. One that is not installed: FileNotFoundError."""
    return {name: _source(name) for name in NAMES}


def _source(name: str) -> str:
    try:
        return files("chalicelib.job_scripts").joinpath(name).read_text("utf-8")
    except FileNotFoundError as error:
        missing = f"chalicelib/job_scripts/{name} is not in this installation; install Tutti again"
        raise FileNotFoundError(missing) from error

"""The committed definition of the training job, its function names filled in as CloudFormation would."""

from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "step_functions" / "training_job.asl.json"
NAME = "training_job"
ARN = f"arn:aws:states:us-east-1:000000000000:stateMachine:{NAME}"
"""Under this name the interpreter runs it."""
FUNCTIONS = {
    "PrepareFunction": "prepare",
    "StartServerFunction": "start_server",
    "StartWorkerFunction": "start_worker",
    "TrainFunction": "train",
    "CollectFunction": "collect",
    "ReleaseFunction": "release",
    "FailFunction": "fail",
}


def definition() -> str:
    """The very file that AWS runs, with the names of this process's functions."""
    text = FILE.read_text(encoding="utf-8")
    for variable, name in FUNCTIONS.items():
        text = text.replace(f"${{{variable}}}", name)
    return text

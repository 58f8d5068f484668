"""The user's code tried before a federation is built, each try in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest
from tutti_worker.launched_copy import unpack_job
from tutti_worker.preflight import read_cause

from chalicelib.contracts.job import Cause
from tests.worker.builders import PROJECT, job_zip, model_def

pytestmark = pytest.mark.process


def tried(folder: Path, code: str, role: str = "server") -> Cause | None:
    packed = folder / "job.zip"
    packed.write_bytes(job_zip(2, 1, 2, scripts={"model_def.py": code}))
    unpack_job(packed, folder / "job")
    program = "import sys; from tutti_worker.preflight import main; sys.exit(main(sys.argv[1:]))"
    arguments = [str(folder / "job"), str(folder / "cause.json"), role]
    env = {"PYTHONPATH": f"{PROJECT / 'worker_image'}:{PROJECT}", "PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, "-c", program, *arguments], env=env, check=False, timeout=120)
    return read_cause(folder / "cause.json")


def test_good_code_passes(tmp_path: Path) -> None:
    assert tried(tmp_path, model_def()) is None


CASES = {
    "a syntax error": ("def f(:\n", "import_failed", 1, "SyntaxError"),
    "a missing package": ("import os\nimport no_such_thing\n", "import_failed", 2, "requirements.txt"),
    "an exception at import": ("x = 1\ny = x / 0\n", "import_failed", 2, "ZeroDivisionError"),
    "an exit at import": ("import sys\nsys.exit(3)\n", "import_failed", 2, "SystemExit"),
    "no training function": ("class FLModelWrapper: pass\n", "name_missing", None, "fl_train_model"),
    "no model class": ("def fl_train_model(*a): pass\n", "name_missing", None, "FLModelWrapper"),
    "a model that cannot be built": (
        "class FLModelWrapper:\n    def __init__(self):\n        pass\ndef fl_train_model(*a): pass\n",
        "model_build_failed",
        2,
        "num_classes",
    ),
    "a model that raises": (
        "class FLModelWrapper:\n    def __init__(self, **k):\n        raise ValueError('no')\ndef fl_train_model(*a): pass\n",
        "model_build_failed",
        3,
        "ValueError",
    ),
    "a model that is none": (
        "class FLModelWrapper:\n    def __init__(self, **k): pass\ndef fl_train_model(*a): pass\n",
        "model_build_failed",
        None,
        "torch.nn.Module",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_fault_in_the_users_code_is_named_with_its_place(case: str, tmp_path: Path) -> None:
    code, expected, line, said = CASES[case]
    cause = tried(tmp_path, code)
    assert cause is not None
    assert (cause.code, cause.line) == (expected, line)
    assert said in cause.sentence
    assert cause.file in ("scripts/model_def.py", None)
    assert str(tmp_path) not in "\n".join((cause.sentence, *cause.evidence))


def test_a_client_does_not_build_the_model(tmp_path: Path) -> None:
    code = model_def().replace("super().__init__()", "raise MemoryError")
    assert tried(tmp_path, code, role="client") is None

"""Faults that a user, a shard or a machine can bring into a job, and how a job that met one is looked at."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import torch
from tutti_fl import Client
from tutti_fl.folder import read_folder
from tutti_fl.outcome import Outcome
from tutti_fl.plain_teller import PlainTeller
from tutti_fl.run import JobRun, Wish
from tutti_fl.shapes.jobs import Job, Reason, Worker
from tutti_fl.shapes.live import Warned
from tutti_fl.workspaces import Settings

from tests.whole.builders import MODEL_DEF, folder, spoiled

ENV = '    env = payload["env"]\n'
RETURN = '    return {"weights": model.get_weights(), "samples": len(rows), "loss": loss.item()}\n'
IMPORTS = "import numpy as np\n"
SITE, SERVER = "site-2", "server"
SCRIPT = "scripts/model_def.py"


def before_training(code: str, site: str | None = SITE) -> str:
    """MODEL_DEF with these lines at the beginning of the training function, for one site or for all."""
    return spoiled(ENV, ENV + _only(code, site))


def after_training(code: str, site: str | None = SITE) -> str:
    """MODEL_DEF with these lines in front of its return; ``weights`` is what would be returned."""
    return spoiled(RETURN, "    weights = model.get_weights()\n" + _only(code, site) + RETURN)


def _only(code: str, site: str | None) -> str:
    condition = f'    if env["SITE_NAME"] == "{site}":\n' if site else "    if True:\n"
    return condition + "".join(f"        {line}\n" for line in code.splitlines())


@dataclass(frozen=True)
class Fault:
    """A workspace with something wrong in it, and what the user is to read about it."""

    source: str
    code: str
    says: str
    site: str | None = SITE
    at: str | None = None
    """Words of the line that the reason must name; None when no line can be known."""
    fault: str = "your_code"
    checkpoint: dict[str, torch.Tensor] | None = None
    federation: dict[str, int] = field(default_factory=dict)
    arguments: dict[str, int] = field(default_factory=dict)
    model: dict[str, str] = field(default_factory=dict)
    names_file: str | None = None
    """The file to be named where no line can be."""

    @property
    def file(self) -> str | None:
        """The file that must be named."""
        return SCRIPT if self.at else self.names_file

    @property
    def line(self) -> int | None:
        """The number of the line that must be named."""
        lines = self.source.splitlines()
        return None if self.at is None else next(number for number, line in enumerate(lines, 1) if self.at in line)


def wish(client: Client, root: Path, name: str, fault: Fault, *, shards: int, rounds: int = 2) -> JobRun:
    """A run of a workspace with this fault that has not begun."""
    folder(root, shards=shards, model_def=fault.source)
    if fault.checkpoint is not None:
        (root / "model").mkdir()
        torch.save(fault.checkpoint, root / "model" / "theirs.pt")
    settings = Settings(
        parameters={"local_epochs": 3, "learning_rate": 0.1},
        federation={"rounds": rounds, "minimum_workers": min(2, shards), "wait_for_stragglers_s": 1, **fault.federation},
        arguments=fault.arguments,
        model=fault.model,
    )
    return JobRun(client, Wish(read_folder(root), name, settings), PlainTeller(sys.stdout))


@dataclass(frozen=True)
class Ended:
    """A job that is over, and everything a user can see of it."""

    job: Job
    outcome: Outcome
    client: Client

    @property
    def reason(self) -> Reason:
        """Why it ended."""
        assert self.job.reason is not None
        return self.job.reason

    @property
    def refused(self) -> list[dict[str, str]]:
        """Who did not count and why, round by round."""
        return [round_.refused for round_ in self.outcome.rounds]

    @property
    def warnings(self) -> list[tuple[str, str | None, str]]:
        """Code, site and sentence of every warning."""
        feed = [item.change for item in self.client.jobs.live(self.job.id).feed]
        return [(change.code, change.site, change.sentence) for change in feed if isinstance(change, Warned)]

    def worker(self, site: str = SITE) -> Worker:
        """One worker as it was last."""
        return next(worker for worker in self.client.jobs.live(self.job.id).workers if worker.site == site)

    def log(self, source: str) -> str:
        """Everything that one worker has logged."""
        return "".join(httpx.get(segment.url).raise_for_status().text for segment in self.client.jobs.logs(self.job.id, source))

    @property
    def seconds(self) -> float:
        """From the launch to the end."""
        assert self.job.ended_at is not None
        return (self.job.ended_at - self.job.created_at).total_seconds()


def followed(client: Client, begun: JobRun) -> Ended:
    """A launched run, once it is over."""
    begun.follow()
    assert begun.outcome.job is not None
    return Ended(begun.outcome.job, begun.outcome, client)


def launched(begun: JobRun) -> str:
    """The id of the job, which the check must have let pass."""
    report = begun.check()
    assert not report.errors, report.findings
    return begun.launch().id


def codes(findings: Sequence[object]) -> list[str]:
    """The codes of a report's findings."""
    return [str(getattr(finding, "code", "")) for finding in findings]


SIGNALLED = "import signal\nos.kill(os.getpid(), signal.SIG{})"
SHORT_OF_MEMORY = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\ntorch.zeros(1 << 31)"
OTHER_MODEL = {"conv.weight": torch.zeros(3, 3)}
DEF = "def fl_train_model"

ENDING: dict[str, Fault] = {
    "a missing package": Fault(
        spoiled(IMPORTS, IMPORTS + "import no_such_package\n"),
        "missing_module", "no_such_package", SERVER, at="import no_such_package",
    ),
    "a package missing in the training function": Fault(
        before_training("import no_such_package"),
        "missing_module", "no_such_package", at="import no_such_package",
    ),
    "a class that is not there": Fault(
        MODEL_DEF + "\ndel FLModelWrapper\n",
        "name_missing", "FLModelWrapper", SERVER, names_file=SCRIPT,
    ),
    "__init__ without **kwargs": Fault(
        spoiled("(self, **kwargs)", "(self)"),
        "model_build_failed", "num_classes", SERVER, at="def __init__", arguments={"num_classes": 3},
    ),
    "nothing returned": Fault(
        before_training("return None"),
        "wrong_return", "returned None", at=DEF,
    ),
    "sys.exit": Fault(
        before_training("import sys\nsys.exit(3)"),
        "training_raised", "sys.exit(3)", at="sys.exit(3)",
    ),
    "an exception": Fault(
        before_training("raise ValueError('no rows like these')"),
        "training_raised", "no rows like these", at="raise ValueError",
    ),
    "os._exit": Fault(
        before_training("os._exit(0)"),
        "process_crashed", "os._exit()",
    ),
    "a crash in native code": Fault(
        before_training("import ctypes\nctypes.string_at(0)"),
        "process_crashed", "SIGSEGV", at="ctypes.string_at",
    ),
    "SIGKILL": Fault(
        before_training(SIGNALLED.format("KILL")),
        "process_killed", "SIGKILL", fault="provider",
    ),
    "memory that cannot be had": Fault(
        before_training(SHORT_OF_MEMORY),
        "out_of_memory", "allocate", at="torch.zeros(1 << 31)", fault="your_settings",
    ),
    "a tensor of another shape": Fault(
        after_training("weights['layer.weight'] = torch.zeros(3, 2)\nreturn {'weights': weights, 'samples': 9}"),
        "update_refused", "layer.weight has shape (3, 2)", at=DEF,
    ),
    "a missing tensor": Fault(
        after_training("del weights['layer.bias']\nreturn {'weights': weights, 'samples': 9}"),
        "update_refused", "1 missing (layer.bias)", at=DEF,
    ),
    "NaN from every worker": Fault(
        after_training("weights['layer.bias'] = torch.full((1,), float('nan'))\nreturn {'weights': weights, 'samples': 9}", None),
        "update_refused", "layer.bias has 1 of 1 values that are not finite", None, at=DEF,
    ),
    "no samples anywhere": Fault(
        after_training("return {'weights': weights, 'samples': 0}", None),
        "no_samples", "zero samples", None, fault="your_data",
    ),
    "a checkpoint of another model": Fault(
        MODEL_DEF,
        "checkpoint_failed", "theirs.pt", SERVER, fault="your_data", checkpoint=OTHER_MODEL, names_file="model/theirs.pt",
    ),
}  # fmt: skip
"""Two workers, both needed: the job must end FAILED with this."""

TURNS = {
    "nothing returned": ("return None", "returned None"),
    "sys.exit": ("raise SystemExit(3)", "sys.exit(3)"),
    "an exception": ("raise ValueError('no rows like these')", "no rows like these"),
    "a wrong count": ("return {'weights': weights, 'samples': -1}", "samples=-1"),
    "a tensor of another shape": ("weights['layer.weight'] = torch.zeros(3, 2)", "layer.weight has shape (3, 2)"),
    "a missing tensor": ("del weights['layer.bias']", "1 missing (layer.bias)"),
    "NaN": ("weights['layer.bias'] = weights['layer.bias'] * float('nan')", "not finite"),
}
"""What one worker of three does wrong in one round, and the words by which the round shows it."""


def in_turns() -> str:
    """MODEL_DEF whose second site does each of TURNS in a round of its own, and reports no samples in the one after."""
    lines = [f"if env['CURRENT_ROUND'] == {number}:\n    {code}" for number, (code, _) in enumerate(TURNS.values())]
    last = f"if env['CURRENT_ROUND'] == {len(TURNS)}:\n    return {{'weights': weights, 'samples': 0, 'loss': 1.0}}"
    return after_training("\n".join([*lines, last, "return {'weights': weights, 'samples': len(rows), 'loss': loss.item()}"]))

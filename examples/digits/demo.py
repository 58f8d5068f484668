"""The whole of Tutti in one run: a stack of its own, an empty bucket, three workers, eight rounds, a model, and the proof.

    python -m examples.digits.demo [--data FOLDER] [--results FOLDER]

Exit code 0 only if the job FINISHED and the global model beats every lone worker; RESULTS/demo.json holds the figures.
"""

import argparse
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from tutti_fl import Client, Settings, TuttiError
from tutti_fl.folder import read_folder
from tutti_fl.outcome import Outcome, plain
from tutti_fl.plain_teller import PlainTeller
from tutti_fl.rich_teller import RichTeller
from tutti_fl.run import JobRun, Teller, Wish
from tutti_fl.sign_in import sign_in_with_code
from tutti_fl.words import end_lines, error_lines, finding_line

from examples.digits.evaluation import Jury, load_module, verdict
from examples.digits.make_shards import make_shards
from examples.digits.stack import Stack, StackError

HERE = Path(__file__).resolve().parent
ROUNDS = 8
PARAMETERS = {"local_epochs": 3, "batch_size": 16, "learning_rate": 0.005}
LEAST_ACCURACY = 0.93


class DemoFailed(Exception):
    """Something is not right; the message is the sentence to print."""


@dataclass
class Demo:
    """What the demo found out, filled as it goes."""

    data: Path
    results: Path
    outcome: Outcome = field(default_factory=Outcome)
    stack_up: float | None = None
    together: float | None = None
    alone: list[float] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """The workspace of the demo: a copy, so that the repository stays as it is."""
        return self.results / "demo" / "digits"

    @property
    def held_out(self) -> Path:
        """Images that are in no shard."""
        return self.folder / "held_out.npz"

    def run(self, teller: Teller) -> None:
        """Everything, with the stack gone at the end. DemoFailed says what is not right."""
        self._clear()
        teller.step("Starting the local stack")
        with Stack(self.data, self.results / "demo-stack.log") as stack:
            self.stack_up = stack.seconds
            teller.note(f"up at {stack.address.url} after {stack.seconds:.1f} s")
            with self._client(stack, teller) as client:
                self._job(client, teller)
            self._judge(teller)
            teller.step("Stopping the local stack")

    def document(self) -> dict[str, Any]:
        """What ``demo.json`` holds."""
        job, seconds = self.outcome.job, self.outcome.seconds
        moments = ("upload", "validate", "launch_to_running", "launch_to_first_step", "launch_to_finished")
        return {
            "job_id": job.id if job else None,
            "state": job.state if job else None,
            "reason": plain(job.reason) if job else None,
            "rounds": plain(self.outcome.rounds),
            "seconds": {"stack_up": self.stack_up} | {name: seconds.get(name) for name in moments},
            "accuracy": {"global": self.together, "alone": self.alone},
            "model_path": str(self.outcome.model_path) if self.outcome.model_path else None,
        }

    def _clear(self) -> None:
        """An empty bucket and a clean workspace; the stack of a demo still under way is left alone."""
        if _is_running(self.data / "ready.json"):
            raise DemoFailed(f"another demo is using {self.data}; wait for it, or give --data another folder")
        for folder in (self.data, self.folder):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(HERE / "scripts", self.folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
        make_shards(self.folder)

    @contextmanager
    def _client(self, stack: Stack, teller: Teller) -> Iterator[Client]:
        teller.step("Signing in with the one-time code")
        with Client(stack.address.url, "") as nobody:
            found = sign_in_with_code(stack.address.url, nobody.account.sign_in(), stack.address.code)
        with Client(found.url, found.token) as client:
            yield client

    def _job(self, client: Client, teller: Teller) -> None:
        """From an empty bucket to the model on disk, through the API and the store's signed URLs alone."""
        settings = Settings(parameters=PARAMETERS, federation={"rounds": ROUNDS})
        out = self.results / "demo" / "GLOBAL_MODEL.pt"
        job_run = JobRun(client, Wish(read_folder(self.folder), "digits", settings, out=out), teller)
        self.outcome = job_run.outcome
        job_run.run()
        job, report = self.outcome.job, self.outcome.report
        if job is None:
            raise DemoFailed("\n".join(["the report has errors:", *map(finding_line, report.errors if report else ())]))
        if job.state != "FINISHED" or self.outcome.model_path is None:
            raise DemoFailed("\n".join(["the job did not finish:", *end_lines(job)]))
        if len(self.outcome.rounds) != ROUNDS:
            raise DemoFailed(f"the job finished after {len(self.outcome.rounds)} rounds in place of {ROUNDS}")

    def _judge(self, teller: Teller) -> None:
        """The global model and the lone workers on the held-out images."""
        teller.step("Evaluating the model on held-out digits, and each worker alone for as many epochs")
        jury = Jury(load_module(self.folder / "scripts" / "model_def.py"), self.held_out)
        if self.outcome.model_path is not None:
            self.together = jury.accuracy_of_file(self.outcome.model_path)
        for shard in sorted((self.folder / "shards").glob("*.zip")):
            self.alone.append(jury.alone(shard, self.folder / "alone", rounds=ROUNDS, parameters=PARAMETERS))
        if wrong := verdict(self.together or 0.0, self.alone, least=LEAST_ACCURACY):
            raise DemoFailed(wrong)


def _is_running(ready: Path) -> bool:
    """Whether the process that wrote this file is still a stack."""
    try:
        pid = int(json.loads(ready.read_text())["pid"])
        return b"local_stack" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError, KeyError):
        return False


@contextmanager
def _teller() -> Iterator[Teller]:
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        yield PlainTeller(sys.stdout)
        return
    with RichTeller(Console(highlight=False)) as teller:
        yield teller


def _attempt(demo: Demo) -> str | None:
    """Run the demo; what is not right, in a sentence or more."""
    try:
        with _teller() as teller:
            demo.run(teller)
    except (DemoFailed, StackError) as error:
        return str(error)
    except OSError as error:
        return f"this machine is in the way: {error}"
    except TuttiError as error:
        return "\n".join(error_lines(error))
    except KeyboardInterrupt:
        return "stopped by Ctrl-C; the stack is down"
    return None


def _table(demo: Demo) -> list[str]:
    rows = [("global model", demo.together or 0.0), *((f"site-{n} alone", value) for n, value in enumerate(demo.alone, 1))]
    return ["", "accuracy on held-out digits", *(f"  {name:<14} {value:.3f}  {'█' * round(value * 40)}" for name, value in rows)]


def main() -> int:
    """The exit code; everything else is printed and in demo.json."""
    parser = argparse.ArgumentParser(description="Run the digits example whole, on a stack of its own.")
    parser.add_argument("--data", type=Path, default=Path(".tutti-demo"), help="the stack's data; emptied first (.tutti-demo)")
    parser.add_argument("--results", type=Path, default=Path(".tutti"), help="gets demo.json and the model (.tutti)")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends the demo ends its stack
    demo = Demo(args.data.resolve(), args.results)
    wrong = _attempt(demo)
    args.results.mkdir(parents=True, exist_ok=True)
    document = args.results / "demo.json"
    document.write_text(json.dumps(demo.document(), indent=2, allow_nan=False) + "\n")
    if demo.together is not None:
        print("\n".join(_table(demo)))
    if wrong:
        print(f"\nThe demo did not succeed: {wrong}\nThe stack's log is {args.results / 'demo-stack.log'}", file=sys.stderr)
        return 1
    print(f"\n{demo.document()['job_id']} FINISHED. The model: {demo.outcome.model_path}. All figures: {document}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

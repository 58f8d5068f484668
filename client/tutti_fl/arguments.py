"""The command line: what can be typed."""

import argparse
from pathlib import Path
from typing import TypeAlias

from tutti_fl.workspaces import Settings, Typed

JOB = "its id, the beginning or end of it, or the name of a workspace (its newest job)"
ENDS = """\
how it ends (exit code):
  0 finished      1 refused by validation or at launch      2 wrong use
  3 failed        4 cancelled        5 no answer, not signed in, or a file did not get through
  130 Ctrl-C: a job that runs goes on; 'tutti follow JOB' comes back to it, 'tutti cancel JOB' stops it

TUTTI_URL and TUTTI_TOKEN (an API key) win over what 'tutti login' stored. NO_COLOR is respected.
"""


def parser() -> argparse.ArgumentParser:
    """Everything ``tutti`` understands."""
    top = argparse.ArgumentParser(
        prog="tutti",
        description="Federated PyTorch training jobs from the command line.",
        epilog=ENDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _login(commands)
    _keys(commands)
    _run(commands)
    _check(commands)
    _jobs(commands)
    _fetch(commands)
    _export(commands)
    return top


Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def _login(commands: Commands) -> None:
    login = commands.add_parser("login", help="sign in, through the browser unless told otherwise")
    login.add_argument("url", nargs="?", help="where Tutti is, e.g. http://127.0.0.1:8080")
    login.add_argument("--url", dest="url_option", metavar="URL", help="the same")
    how = login.add_mutually_exclusive_group()
    how.add_argument("--code", help="the one-time code Tutti printed when it started; no browser is needed")
    how.add_argument("--key", action="store_true", help="store an API key, read from standard input")


def _keys(commands: Commands) -> None:
    keys = commands.add_parser("keys", help="list, create and revoke API keys")
    act = keys.add_subparsers(dest="act", metavar="ACT")
    act.add_parser("list", help="the keys, newest first (what 'tutti keys' alone does)")
    create = act.add_parser("create", help="a new key, shown this once")
    create.add_argument("--label", default="", help="what it is for")
    revoke = act.add_parser("revoke", help="a key stops working at once")
    revoke.add_argument("id")


def _run(commands: Commands) -> None:
    run = commands.add_parser("run", help="upload a folder, check it, launch it, follow it, download the model")
    _folder(run)
    run.add_argument("--gpu", metavar="TYPE", help="GPU type; without it a free one that costs nothing is taken")
    run.add_argument("--out", type=Path, metavar="FILE", help="where the model goes (FOLDER/model_out/GLOBAL_MODEL.pt)")


def _check(commands: Commands) -> None:
    check = commands.add_parser(
        "check",
        help="upload a folder and print its report",
        description="Uploads what is new in the folder to its workspace (the one 'tutti run' uses) and prints the report. "
        "Nothing is launched. Exit code 1 when the report has errors.",
    )
    _folder(check)


def _folder(command: argparse.ArgumentParser) -> None:
    command.add_argument("folder", type=Path, metavar="FOLDER", help="holds scripts/model_def.py and shards/*.zip")
    command.add_argument("--name", help="the workspace (the folder's name)")
    command.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a hyperparameter; may be repeated")
    command.add_argument("--model-arg", action="append", default=[], metavar="KEY=VALUE", help="an argument of the model class")
    for flag, text in (
        ("rounds", "how often the model goes out and is averaged"),
        ("minimum-workers", "answers a round needs when you run the configs yourself; set for you at launch"),
        ("wait-for-stragglers-s", "seconds to wait for the others once the minimum has answered"),
        ("heartbeat-timeout-s", "seconds a worker may be silent"),
        ("training-timeout-s", "seconds a round may take; 0: no limit"),
    ):
        command.add_argument(f"--{flag}", type=int, metavar="N", help=text)
    command.add_argument("--model-class", metavar="MODULE.CLASS", help="the model class (model_def.FLModelWrapper)")
    command.add_argument("--adapter-module", metavar="MODULE", help="the file in scripts/, without .py (model_def)")
    command.add_argument("--train-fn", metavar="NAME", help="the training function (fl_train_model)")
    command.add_argument("--replace", action="store_true", help="overwrite hand-edited configs, remove other shards there")
    _json(command)


def _jobs(commands: Commands) -> None:
    jobs = commands.add_parser("jobs", help="your jobs, newest first")
    jobs.add_argument("--workspace", help="only those of one workspace")
    many = jobs.add_mutually_exclusive_group()
    many.add_argument("--limit", type=_count, default=20, metavar="N", help="how many (20)")
    many.add_argument("--all", action="store_true", help="every one")
    follow = commands.add_parser("follow", help="follow a job to its end")
    logs = _logs(commands)
    cancel = commands.add_parser("cancel", help="stop a job")
    download = commands.add_parser("download", help="the trained model of a job")
    download.add_argument("--out", type=Path, metavar="FILE", default=Path("GLOBAL_MODEL.pt"), help="where it goes")
    for command in (follow, logs, download):
        command.add_argument("job", metavar="JOB", nargs="?", help=f"{JOB}; without it the newest")
    cancel.add_argument("job", metavar="JOB", help=JOB)
    for command in (jobs, follow, cancel, download):
        _json(command)


def _logs(commands: Commands) -> argparse.ArgumentParser:
    logs = commands.add_parser(
        "logs",
        help="what a job's processes wrote",
        description="Prints time, site, level and text of what the server and the workers wrote, in the order of time.",
    )
    logs.add_argument("-f", "--follow", action="store_true", help="go on until the job has ended")
    logs.add_argument("--site", action="append", default=[], metavar="SITE", help="server, site-1 …; may be repeated (all)")
    logs.add_argument("--since", metavar="TIME", help="only later lines: 30s, 10m, 2h, 1d ago, or 2026-05-01T10:00")
    logs.add_argument("--json", action="store_true", help="one JSON object a line")
    return logs


def _count(typed: str) -> int:
    count = int(typed)
    if count < 1:
        raise argparse.ArgumentTypeError("it begins at 1")
    return count


def _fetch(commands: Commands) -> None:
    fetch = commands.add_parser(
        "fetch",
        help="download a folder of your bucket",
        description="Downloads every file under PREFIX. Run again, it fetches only what is new or was not whole.",
    )
    fetch.add_argument("prefix", metavar="PREFIX", nargs="?", default="", help="e.g. jobs/digits/ (the whole bucket)")
    fetch.add_argument("--out", type=Path, metavar="FOLDER", default=Path(), help="where it goes (here)")


def _export(commands: Commands) -> None:
    export = commands.add_parser(
        "export",
        help="lay a workspace folder out as a job for any NVFLARE federation",
        description="Writes a job folder that NVFLARE accepts, from a workspace folder as 'aws s3 cp --recursive' fetches it. "
        "Scripts keep every byte; how the configs differ is printed.",
    )
    export.add_argument("folder", type=Path, metavar="FOLDER", help="holds scripts/ and configs/")
    export.add_argument("--out", type=Path, metavar="FOLDER", help="a new folder (FOLDER-nvflare)")
    root = "where the sites have their data unpacked; SITE=PATH, repeated, where sites share a machine"
    export.add_argument("--data-root", action="append", default=[], metavar="[SITE=]PATH", help=root)


def _json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="one JSON document on standard output; progress on standard error")


def settings_of(args: argparse.Namespace) -> Settings:
    """The wizard's settings as typed; ValueError for a pair without ``=``."""
    federation = ("rounds", "minimum_workers", "wait_for_stragglers_s", "heartbeat_timeout_s", "training_timeout_s")
    model = ("model_class", "adapter_module", "train_fn")
    return Settings(
        parameters=_pairs("--set", args.set),
        federation={name: value for name in federation if (value := getattr(args, name)) is not None},
        model={name: value for name in model if (value := getattr(args, name)) is not None},
        arguments=_pairs("--model-arg", args.model_arg),
    )


def _pairs(flag: str, typed: list[str]) -> dict[str, Typed]:
    pairs = {}
    for text in typed:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"{flag} {text}: a name, =, and a value are wanted")
        pairs[name.strip()] = Typed(value)
    return pairs

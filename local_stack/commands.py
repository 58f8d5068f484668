"""What each command of ``python -m local_stack`` does."""

import argparse
import getpass
import json
import shutil
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from chalicelib.adapters.step_functions import StepFunctionsWorkflow, step_functions_client
from chalicelib.adapters.system import SystemClock, SystemIds
from chalicelib.contracts.account import Principal
from chalicelib.contracts.job import Job
from chalicelib.services.jobs import cancel
from chalicelib.version import VERSION
from local_stack import running
from local_stack.heap import share_arenas
from local_stack.identity import issue_code
from local_stack.object_store import REGION, ObjectStoreDown
from local_stack.records import JobRecords, Records
from local_stack.stack import Places, Stack
from local_stack.stack_log import keep_quiet, write_log_to
from local_stack.training_job import ARN
from local_stack.wsgi_server import PortTaken

Act = Callable[[argparse.Namespace], int]
_JOBS_END_WITHIN_S = 45.0
_STACK_ENDS_WITHIN_S = 20.0

__all__ = ["VERSION", "Act", "CannotDo", "code", "default_name", "down", "reset", "status", "up"]


class CannotDo(Exception):
    """The command cannot do what was asked; the message says why and what to do."""


def default_name() -> str:
    """The name of the machine's user, as the first user of the stack."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "you"


def up(arguments: argparse.Namespace) -> int:
    """Start the stack, say how to use it, and stay until SIGINT or SIGTERM."""
    places = Places(arguments.data.resolve())
    there = running.read(places.running)
    if there is not None:
        raise CannotDo(f"a stack runs on {places.data} already (process {there.pid}, {there.url}); 'make down' stops it")
    stopped = threading.Event()
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, lambda *_: stopped.set())
    share_arenas()
    stack = Stack(arguments.data, arguments.port, arguments.console)
    write_log_to(places.log)
    try:
        _start(stack, arguments.ready)
        stack.stay(stopped)
        _say_goodbye(stack, cancel_jobs=arguments.ephemeral)
    except (ObjectStoreDown, PortTaken, OSError) as error:
        raise CannotDo(str(error)) from error
    finally:
        running.forget(places.running)
        stack.stop()
        if arguments.ready is not None:
            arguments.ready.unlink(missing_ok=True)
    return 0


def _start(stack: Stack, ready: Path | None) -> None:
    stack.start()
    running.note(stack.places.running, url=stack.url, inner_url=stack.inner_url, s3_url=stack.s3_url)
    sign_in = stack.issuer.issue_code(default_name())
    if ready is not None:
        temporary = ready.with_suffix(".part")
        temporary.touch(mode=0o600)
        temporary.write_text(json.dumps({"url": stack.url, "code": sign_in, "pid": psutil.Process().pid}))
        temporary.replace(ready)
    print(_greeting(stack, sign_in), flush=True)


def _greeting(stack: Stack, sign_in: str) -> str:
    return (
        f"Tutti {VERSION} is up.\n\n"
        f"  console and API   {stack.url}\n"
        f"  S3 endpoint       {stack.s3_url}\n"
        f"  data              {stack.places.data}\n"
        f"  log               {stack.places.log}\n\n"
        f"  sign-in code      {sign_in}   (once, within 15 minutes; 'make code' prints another)\n"
        f"  command line      tutti login --url {stack.url} --code {sign_in}\n\n"
        "Ctrl-C stops the stack; jobs that run then wait ten minutes for 'make up'."
    )


def _say_goodbye(stack: Stack, *, cancel_jobs: bool) -> None:
    jobs = _active(stack.places)
    if jobs and cancel_jobs:
        _cancel(jobs, stack.places, stack.inner_url)
    elif jobs:
        print(f"{len(jobs)} job(s) still run; 'make up' within ten minutes carries them on.", flush=True)


def down(arguments: argparse.Namespace) -> int:
    """Stop the stack of this data folder; running jobs are cancelled first, if the user agrees."""
    places = Places(arguments.data.resolve())
    there = running.read(places.running)
    if there is None:
        print(f"No stack runs on {places.data}.")
        return 0
    keep_quiet()
    jobs = _active(places)
    if jobs and not (arguments.yes or _agreed(f"{len(jobs)} job(s) are running: {_names(jobs)}. Cancel them and stop?")):
        print("Left as it is.")
        return 1
    _cancel(jobs, places, there.inner_url)
    _end(there)
    print("The stack is down.")
    return 0


def reset(arguments: argparse.Namespace) -> int:
    """Stop the stack and delete its data folder: jobs, buckets, users, keys."""
    places = Places(arguments.data.resolve())
    if not places.data.exists():
        print(f"There is nothing at {places.data}.")
        return 0
    if not places.records.exists():
        raise CannotDo(f"{places.data} does not look like a stack's data, so it is left alone")
    if not (arguments.yes or _agreed(f"Delete {places.data} with all jobs, buckets and users?")):
        print("Left as it is.")
        return 1
    down(argparse.Namespace(data=arguments.data, yes=True))
    shutil.rmtree(places.data)
    print(f"Deleted {places.data}.")
    return 0


def status(arguments: argparse.Namespace) -> int:
    """Print what runs and where; exit code 3 when nothing does."""
    places = Places(arguments.data.resolve())
    there = running.read(places.running)
    if there is None:
        print(f"No stack runs on {places.data}. 'make up' starts one.")
        return 3
    process = psutil.Process(there.pid)
    memory = process.memory_info().rss + sum(_memory(child) for child in process.children(recursive=True))
    print(f"up since {time.strftime('%Y-%m-%d %H:%M', time.localtime(there.started))}, process {there.pid}, {memory >> 20} MiB")
    print(f"  console and API   {there.url}\n  S3 endpoint       {there.s3_url}\n  data              {places.data}")
    for job in _active(places):
        print(f"  {job.id}  {job.workspace}  {job.state.value}  round {job.rounds_done} of {job.rounds}")
    return 0


def code(arguments: argparse.Namespace) -> int:
    """Print a one-time sign-in code for a user, who is made if there is none of that name."""
    places = Places(arguments.data.resolve())
    if running.read(places.running) is None:
        raise CannotDo(f"no stack runs on {places.data}; 'make up' starts one and prints a code")
    print(issue_code(places.identity, arguments.name))
    return 0


def _memory(process: psutil.Process) -> int:
    with suppress(psutil.NoSuchProcess):
        return int(process.memory_info().rss)
    return 0


def _agreed(question: str) -> bool:
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _names(jobs: list[Job]) -> str:
    return ", ".join(f"{job.workspace} ({job.id})" for job in jobs)


def _active(places: Places) -> list[Job]:
    if not places.records.exists():
        return []
    records = Records(places.records)
    try:
        return list(JobRecords(records).active())
    finally:
        records.close()


def _cancel(jobs: list[Job], places: Places, inner_url: str) -> None:
    """Ask every job to end and wait until it has; the running stack does the ending."""
    records = Records(places.records)
    client = step_functions_client(region=REGION, endpoint_url=inner_url)
    store, workflow = JobRecords(records), StepFunctionsWorkflow(client, ARN)
    try:
        for job in jobs:
            owner = Principal(user=job.owner)
            cancel(owner, job.id, jobs=store, workflow=workflow, clock=SystemClock(), ids=SystemIds())
        until = time.monotonic() + _JOBS_END_WITHIN_S
        while store.active() and time.monotonic() < until:
            time.sleep(0.2)
    finally:
        client.close()
        records.close()


def _end(there: running.Running) -> None:
    process = psutil.Process(there.pid)
    process.terminate()
    until = time.monotonic() + _STACK_ENDS_WITHIN_S
    while _lives(process):
        if time.monotonic() > until:
            process.kill()
        time.sleep(0.1)


def _lives(process: psutil.Process) -> bool:
    """Whether it still does anything; one that has ended but was not yet looked after by its parent does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False

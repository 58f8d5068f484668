"""The protocol on a real loopback port, and boto3's client for it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from waitress import create_server, wasyncore
from waitress.server import BaseWSGIServer

from local_stack.state_machine import Engine, Protocol
from local_stack.state_machine.engine import Invoke

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient


@contextmanager
def served(path: Path, invoke: Invoke) -> Iterator[tuple[Engine, str]]:
    """A started engine and the address its protocol is served at."""
    engine = Engine(path, invoke)
    engine.start()
    server = create_server(Protocol(lambda: engine.operations), host="127.0.0.1", port=0, threads=4)
    stop = threading.Event()
    thread = threading.Thread(target=_serve, args=(server, stop))
    thread.start()
    try:
        yield engine, f"http://127.0.0.1:{server.effective_port}"
    finally:
        stop.set()
        with suppress(OSError):  # it may have seen the end of its own second, and closed the trigger
            server.pull_trigger()
        thread.join()
        engine.close()


def _serve(server: BaseWSGIServer, stop: threading.Event) -> None:
    """Serve until told to stop, then close every socket in the thread that uses them: waitress's own run() would first
    wait for the connections that clients keep."""
    while not stop.is_set():
        wasyncore.loop(timeout=1, map=server._map, count=1)
    server.task_dispatcher.shutdown()
    wasyncore.close_all(server._map)


@contextmanager
def client_of(url: str, patience_s: int = 20) -> Iterator["SFNClient"]:
    """boto3's client, which tries each request once and waits so long for its answer."""
    client = boto3.client(
        "stepfunctions", endpoint_url=url, region_name="us-east-1", aws_access_key_id="any", aws_secret_access_key="any",
        config=Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=patience_s),
    )  # fmt: skip
    try:
        yield client
    finally:
        client.close()

"""What a worker of the laptop is told, and what it is not."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_stack.process_tree import MARKER
from tests.adapters.laptop import PROJECT, Laptop, a_laptop

pytestmark = pytest.mark.process


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[Laptop]:
    with a_laptop(tmp_path / "workers") as laptop:
        yield laptop


def test_a_worker_lives_in_a_session_of_its_own(laptop: Laptop) -> None:
    laptop.start(laptop.compute())
    assert os.getsid(laptop.worker().pid) == laptop.shim().pid != os.getsid(0)


def test_a_worker_is_told_what_it_must_know(laptop: Laptop) -> None:
    handle = laptop.start(laptop.compute())
    found = laptop.worker().environ()
    told = {name: found[name] for name in found if name.startswith(("TUTTI_", "OMP_", "CUDA_"))}
    assert told == {
        "TUTTI_API": "http://127.0.0.1:9/api",
        "TUTTI_CODE": "one-time",
        "TUTTI_WORK": str(laptop.folder() / "work"),
        "TUTTI_HOST": "127.0.0.1",
        MARKER: handle,
        "OMP_NUM_THREADS": "3",
        "CUDA_VISIBLE_DEVICES": "device of job-1 site-1",
    }


def test_a_worker_finds_the_contracts_and_its_own_package(laptop: Laptop) -> None:
    laptop.start(laptop.compute())
    assert laptop.worker().environ()["PYTHONPATH"].split(os.pathsep) == [str(PROJECT), str(PROJECT / "worker_image")]


def test_no_secret_of_the_stack_reaches_a_worker(laptop: Laptop) -> None:
    secrets = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "TUTTI_ADMIN": "c", "GITHUB_TOKEN": "d", "PYTHONPATH": "e"}
    laptop.start(laptop.compute(variables=secrets))
    assert set(laptop.worker().environ().values()) & set(secrets.values()) == set()


def test_the_settings_of_pip_and_of_certificates_reach_a_worker(laptop: Laptop) -> None:
    passed = {"PIP_INDEX_URL": "https://packages.test/simple", "SSL_CERT_FILE": "/ca.pem", "HOME": "/home/anna", "LANG": "C"}
    laptop.start(laptop.compute(variables=passed))
    assert passed.items() <= laptop.worker().environ().items()

"""Whole jobs: a real server, real clients, real NVFLARE processes."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.worker.builders import KEEP_PID, SERVER, Federation, alive, eventually, federation, model_def, nursery
from tests.worker.test_requirements import wheel

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def lent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of workers that borrow their warm process, which saves seconds in each test."""
    with nursery(tmp_path_factory.mktemp("nursery")) as environ:
        yield environ


@pytest.fixture
def running() -> Iterator[list[Federation]]:
    started: list[Federation] = []
    yield started
    for one in started:
        one.close()


def start(running: list[Federation], folder: Path, environ: dict[str, str] | None = None, **options: object) -> Federation:
    made = federation(folder, **options)  # type: ignore[arg-type]
    running.append(made)
    made.start(folder / "work", environ)
    return made


def test_a_job_of_three_workers_gives_a_model_and_every_worker_leaves_in_order(running: list[Federation], tmp_path: Path) -> None:
    job = start(running, tmp_path, clients=3, rounds=3)
    assert {site: worker.wait() for site, worker in job.workers.items()} == dict.fromkeys(job.workers, 0)
    platform = job.platform
    finished = platform.of(SERVER, "finished")[0]
    model = torch.load(platform.path("model_out/GLOBAL_MODEL.pt"), weights_only=True)
    assert (finished["rounds"], finished["model_size"]) == (3, platform.path("model_out/GLOBAL_MODEL.pt").stat().st_size)
    assert model["model.1.num_batches_tracked"].dtype == torch.int64
    assert sorted(path.name for path in platform.path("model_out/rounds").iterdir()) == [
        "round_0.pt",
        "round_1.pt",
        "round_2.pt",
    ]
    assert platform.path("files_out/site-2/round_2.txt").exists()
    assert "a line of the user's own site-3" in platform.log("site-3")
    assert platform.of("site-1", "joined")
    assert platform.of("site-1", "finished")
    assert [event["round"] for event in platform.of(SERVER, "round_done")] == [0, 1, 2]
    assert platform.of("site-1", "progress")[0]["metrics"]["loss"] > 0


@pytest.mark.slow
def test_a_killed_training_process_fails_its_own_worker_and_the_others_go_on(
    running: list[Federation], lent: dict[str, str], tmp_path: Path
) -> None:
    slow = KEEP_PID + "; time.sleep(1.5)"
    job = start(running, tmp_path, lent, clients=3, minimum=2, rounds=3, code=model_def(before=slow))
    os.kill(job.workers["site-2"].job_process(), signal.SIGKILL)
    cause = job.platform.wait_for("site-2", "failed")["cause"]
    assert (cause["code"], cause["site"]) == ("process_killed", "site-2")
    assert "SIGKILL" in cause["sentence"]
    assert [job.workers[site].wait(180) for site in (SERVER, "site-1", "site-3")] == [0, 0, 0]
    assert job.platform.of(SERVER, "finished")[0]["rounds"] == 3


@pytest.mark.slow
def test_user_code_that_exits_with_0_fails_its_own_worker_and_the_others_go_on(
    running: list[Federation], lent: dict[str, str], tmp_path: Path
) -> None:
    leave = "import os; env['SITE_NAME'] == 'site-2' and os._exit(0)"
    job = start(running, tmp_path, lent, clients=3, minimum=2, rounds=2, code=model_def(before=leave))
    cause = job.platform.wait_for("site-2", "failed")["cause"]
    assert (cause["code"], cause["site"]) == ("process_crashed", "site-2")
    assert "os._exit()" in cause["sentence"]
    assert [job.workers[site].wait(180) for site in (SERVER, "site-1", "site-3")] == [0, 0, 0]
    assert job.workers["site-2"].wait(60) == 1


def test_a_worker_asked_to_stop_ships_what_it_has_and_leaves_no_process(
    running: list[Federation], lent: dict[str, str], tmp_path: Path
) -> None:
    hang = KEEP_PID + "; Path(out_dir, 'half.txt').write_text('half'); time.sleep(600)"
    job = start(running, tmp_path, lent, clients=2, code=model_def(before=hang))
    job.workers["site-1"].job_process()
    job.workers["site-2"].job_process()
    below = {site: worker.members() for site, worker in job.workers.items()}
    asked = time.monotonic()
    for worker in job.workers.values():
        worker.process.send_signal(signal.SIGTERM)
    assert [worker.wait(25) for worker in job.workers.values()] == [0, 0, 0]
    assert time.monotonic() - asked < 25
    assert [pid for pids in below.values() for pid in pids if alive(pid)] == []
    assert job.platform.path("files_out/site-1/half.txt").exists()


def test_nothing_outlives_a_supervisor_that_is_killed(running: list[Federation], tmp_path: Path) -> None:
    child = "import subprocess; subprocess.Popen(['sleep', '600']); "
    job = start(running, tmp_path, clients=1, code=model_def(before=child + KEEP_PID + "; time.sleep(600)"))
    worker = job.workers["site-1"]
    worker.job_process()
    below = worker.members()
    os.kill(worker.process.pid, signal.SIGKILL)
    assert len(below) >= 4
    assert eventually(lambda: not any(alive(pid) for pid in below))


@pytest.mark.slow
def test_the_stop_command_of_the_platform_ends_a_worker(running: list[Federation], lent: dict[str, str], tmp_path: Path) -> None:
    job = start(running, tmp_path, lent, clients=2, code=model_def(before="time.sleep(600)"))
    job.platform.wait_for("site-1", "phase", phase="training")
    for site in job.workers:
        job.platform.commands[site] = ["stop"]
    assert [worker.wait(40) for worker in job.workers.values()] == [0, 0, 0]


@pytest.mark.slow
def test_a_superseded_worker_leaves_with_75(running: list[Federation], lent: dict[str, str], tmp_path: Path) -> None:
    job = start(running, tmp_path, lent, clients=1, code=model_def(before="time.sleep(600)"))
    job.platform.wait_for("site-1", "phase", phase="training")
    job.platform.superseded.add("site-1")
    assert job.workers["site-1"].wait(40) == 75


@pytest.mark.parametrize("module", ["tinypkg", pytest.param("waitress", marks=pytest.mark.slow)])
def test_a_package_of_the_workspace_is_there_in_training_even_when_it_shadows_one_that_is_installed(
    module: str, running: list[Federation], tmp_path: Path
) -> None:
    package = wheel(tmp_path, name=module, version="77")
    code = model_def(top=f"import {module}\n", before=f"assert {module}.VERSION == '77'")
    job = start(running, tmp_path, clients=1, rounds=1, code=code, requirements=f"{package}\n")
    assert {site: worker.wait(180) for site, worker in job.workers.items()} == {SERVER: 0, "site-1": 0}
    assert job.platform.of("site-1", "phase")[4]["phase"] == "installing"


@pytest.mark.slow
def test_a_platform_that_is_away_for_a_while_costs_no_job(
    running: list[Federation], lent: dict[str, str], tmp_path: Path
) -> None:
    job = start(running, tmp_path, lent, clients=1, rounds=2, code=model_def(before="time.sleep(2)"))
    job.platform.wait_for("site-1", "phase", phase="training")
    job.platform.down_until = time.time() + 6
    assert [worker.wait(180) for worker in job.workers.values()] == [0, 0]
    assert job.platform.of(SERVER, "finished")


@pytest.mark.slow
def test_more_memory_than_the_limit_is_named(running: list[Federation], lent: dict[str, str], tmp_path: Path) -> None:
    eat = "eaten = [bytearray(os.urandom(1) * (64 << 20)) for _ in range(30) if not time.sleep(0.3)]"
    made = federation(tmp_path, clients=1, code=model_def(top="import os\n", before=eat), memory_limit=1200 << 20)
    running.append(made)
    made.start(tmp_path / "work", lent)
    cause = made.platform.wait_for("site-1", "failed")["cause"]
    assert cause["code"] == "out_of_memory"

"""How a job process ends."""

from pathlib import Path

import pytest
from tutti_worker.federation.launchers import ForkedJob
from tutti_worker.flare import JOB_LEFT, left_in_order, noted_end

from tests.worker.builders import eventually


def test_only_a_main_function_that_returns_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {JOB_LEFT: str(tmp_path / "left")}
    monkeypatch.setenv(JOB_LEFT, environ[JOB_LEFT])

    def leave() -> None:
        raise SystemExit(0)

    with pytest.raises(SystemExit):
        noted_end(leave)()
    assert not left_in_order(environ)
    assert noted_end(lambda: 0)() == 0
    assert left_in_order(environ)


def test_an_exit_status_of_0_out_of_order_is_a_death() -> None:
    deaths: list[str] = []
    job = ForkedJob(lambda: None, lambda: deaths.append("died"), lambda: False)
    job.settle(0)
    assert eventually(lambda: deaths == ["died"])


def test_an_exit_status_of_0_in_order_is_the_end() -> None:
    job = ForkedJob(lambda: None, lambda: None, lambda: True)
    job.settle(0)
    job.wait()
    assert job.poll() == 0

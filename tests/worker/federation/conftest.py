"""Every test here has a journal of its own."""

import gc
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def _imported() -> None:
    # The executor collects garbage after each task; what was imported before need not be searched each time.
    gc.freeze()


@pytest.fixture(autouse=True)
def _journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTTI_JOURNAL", str(tmp_path / "journal"))
    for name in ("TUTTI_STATE_DIR", "TUTTI_MODEL_DIR"):
        monkeypatch.delenv(name, raising=False)

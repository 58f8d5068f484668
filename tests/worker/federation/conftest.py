"""Every test here has a journal of its own."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTTI_JOURNAL", str(tmp_path / "journal"))
    for name in ("TUTTI_STATE_DIR", "TUTTI_MODEL_DIR"):
        monkeypatch.delenv(name, raising=False)

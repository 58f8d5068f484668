"""No event is lost without a word, whatever the disk does."""

import os
from pathlib import Path

import pytest
from tutti_worker.federation.journal import append, read_events, write_event

from chalicelib.contracts.worker import RoundStartedEvent


def test_a_short_write_is_continued_until_all_is_written(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        append(file.fileno(), b"a whole line\n", write=lambda target, content: os.write(target, content[:3]))
    assert (tmp_path / "file").read_bytes() == b"a whole line\n"


def test_a_torn_line_does_not_swallow_the_next_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTTI_JOURNAL", str(tmp_path / "journal"))
    (tmp_path / "journal").write_bytes(b'{"type": "round_st')
    write_event(RoundStartedEvent(round=3))
    assert read_events(tmp_path / "journal")[0] == [RoundStartedEvent(round=3)]

"""Which outputs are kept."""

import os
from pathlib import Path

from tutti_worker.out_files import Limits, choose, regular_files


def test_links_and_pipes_are_never_followed_out_of_the_outputs(tmp_path: Path) -> None:
    (tmp_path / "out/deep").mkdir(parents=True)
    (tmp_path / "out/deep/plain").write_text("x")
    (tmp_path / "out/link").symlink_to("/etc/passwd")
    (tmp_path / "out/folder").symlink_to("/etc")
    os.mkfifo(tmp_path / "out/pipe")
    assert [(path.name, size) for path, size in regular_files(tmp_path / "out")] == [("plain", 1)]


def test_a_folder_that_was_replaced_by_a_link_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/etc")
    assert list(regular_files(tmp_path / "out")) == []


def test_files_over_the_limits_are_left_out_and_said(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / name).write_text("12345")
    said: list[str] = []
    kept = [one.name for one in choose(tmp_path, Limits(files=3, bytes=12), said.append)]
    assert kept == ["a", "b"]
    assert len(said) == 1
    assert said[0].startswith("2 files (10 bytes), c the first")

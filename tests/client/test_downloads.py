"""Downloads are whole or not there."""

from pathlib import Path

import pytest
from tutti_fl import TransferFailed

from tests.client.builders import Call, FakeTutti, Reply, client_of


class ShortFirst:
    """The store's first answers are cut."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self, call: Call) -> Reply | None:
        if not call.path.startswith("/store/") or self.left == 0:
            return None
        self.left -= 1
        return Reply(body=b"weig")


def test_a_cut_download_is_fetched_again(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.breaks = ShortFirst(2)
    with client_of(tutti) as client:
        assert client.download("job-01", tmp_path / "m.pt").read_bytes() == b"weights"


def test_a_download_that_stays_cut_leaves_nothing_behind(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.breaks = ShortFirst(5)
    with client_of(tutti) as client, pytest.raises(TransferFailed, match="4 bytes came, 7 were announced"):
        client.download("job-01", tmp_path / "m.pt")
    assert list(tmp_path.iterdir()) == []


def test_an_older_file_stays_until_the_new_one_is_whole(tutti: FakeTutti, tmp_path: Path) -> None:
    (tmp_path / "m.pt").write_bytes(b"old")
    tutti.breaks = ShortFirst(5)
    with client_of(tutti) as client, pytest.raises(TransferFailed):
        client.download("job-01", tmp_path / "m.pt")
    assert (tmp_path / "m.pt").read_bytes() == b"old"


def test_progress_ends_at_the_size_also_after_a_cut(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.breaks = ShortFirst(1)
    told: list[int] = []
    with client_of(tutti) as client:
        client.download("job-01", tmp_path / "m.pt", progress=told.append)
    assert sum(told) == 7

"""Downloads are whole or not there."""

from pathlib import Path

import pytest
from tutti_fl import Progress, TransferFailed

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


def test_a_download_that_stays_cut_is_said_and_makes_no_file(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.breaks = ShortFirst(5)
    with client_of(tutti) as client, pytest.raises(TransferFailed, match="4 bytes came, 7 were announced"):
        client.download("job-01", tmp_path / "m.pt")
    assert not (tmp_path / "m.pt").exists()


def test_the_next_attempt_asks_only_for_what_is_missing(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.breaks = ShortFirst(5)
    with client_of(tutti) as client:
        with pytest.raises(TransferFailed):
            client.download("job-01", tmp_path / "m.pt")
        client.download("job-01", tmp_path / "m.pt")
    asked = [call.headers.get("Range") for call in tutti.calls if call.path.startswith("/store/")]
    assert (asked[-1], (tmp_path / "m.pt").read_bytes()) == ("bytes=4-", b"weights")


def test_the_beginning_of_another_model_is_not_gone_on_with(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.breaks = ShortFirst(5)
    with client_of(tutti) as client:
        with pytest.raises(TransferFailed):
            client.download("job-01", tmp_path / "m.pt")
        tutti.model = b"another"
        client.download("job-02", tmp_path / "m.pt")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("m.pt", b"another")]


def test_a_model_that_arrived_damaged_is_fetched_again(tutti: FakeTutti, tmp_path: Path) -> None:
    damaged = [Reply(body=b"weighty")]
    tutti.breaks = lambda call: damaged.pop() if call.path.startswith("/store/") and damaged else None
    with client_of(tutti) as client:
        assert client.download("job-01", tmp_path / "m.pt").read_bytes() == b"weights"


def test_a_model_that_always_arrives_damaged_makes_no_file(tutti: FakeTutti, tmp_path: Path) -> None:
    tutti.breaks = lambda call: Reply(body=b"weighty") if call.path.startswith("/store/") else None
    with client_of(tutti) as client, pytest.raises(TransferFailed, match="it arrived damaged"):
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
    told: list[Progress] = []
    with client_of(tutti) as client:
        client.download("job-01", tmp_path / "m.pt", progress=told.append)
    assert (told[-1].bytes_done, told[-1].bytes) == (7, 7)

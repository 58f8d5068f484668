"""Ports: free when chosen, the same ever after."""

import socket
from contextlib import closing
from pathlib import Path

from local_stack.ports_file import is_free, kept_ports


def test_ports_stay_what_they_were(tmp_path: Path) -> None:
    first = kept_ports(tmp_path / "ports.json", ["a", "b"])
    assert kept_ports(tmp_path / "ports.json", ["a", "b"]) == first


def test_a_new_name_leaves_the_old_ports_alone(tmp_path: Path) -> None:
    first = kept_ports(tmp_path / "ports.json", ["a"])
    assert kept_ports(tmp_path / "ports.json", ["a", "b"])["a"] == first["a"]


def test_ports_differ(tmp_path: Path) -> None:
    assert len(set(kept_ports(tmp_path / "ports.json", [str(n) for n in range(30)]).values())) == 30


def test_chosen_ports_are_free(tmp_path: Path) -> None:
    assert all(is_free(port) for port in kept_ports(tmp_path / "ports.json", ["a", "b"]).values())


def test_a_port_that_is_listened_on_is_not_free() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        assert not is_free(server.getsockname()[1])

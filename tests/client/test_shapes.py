"""Answers of the API as dataclasses; names of workspaces; objects compared with files."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tutti_fl import TuttiError
from tutti_fl.decoding import decode
from tutti_fl.etags import MIB, is_same
from tutti_fl.naming import workspace_name
from tutti_fl.shapes.account import Me
from tutti_fl.shapes.files import ObjectInfo
from tutti_fl.shapes.live import FeedItem, Live, Metrics, Unknown

from tests.client.builders import NOW, ended

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "names.json").read_text())["vectors"]


def item(**change: Any) -> FeedItem:
    return decode(FeedItem, {"seq": 1, "at": NOW, "change": change})


def test_a_field_of_a_newer_version_is_ignored() -> None:
    assert decode(Me, {"user": "u", "name": "n", "bucket": None, "shoe_size": 42}) == Me("u", "n", None)


def test_a_missing_field_is_named() -> None:
    with pytest.raises(TuttiError, match=r"Me\.bucket is missing"):
        decode(Me, {"user": "u", "name": "n"})


def test_a_field_of_another_type_is_named() -> None:
    with pytest.raises(TuttiError, match=r"Me\.name is a int"):
        decode(Me, {"user": "u", "name": 3, "bucket": None})


def test_a_change_is_read_by_its_kind() -> None:
    change = item(kind="metrics", site="site-1", round=0, source="train", values={"loss": 1, "bad": None}).change
    assert change == Metrics("site-1", 0, "train", {"loss": 1.0, "bad": None})


def test_a_change_of_an_unknown_kind_is_kept_as_unknown() -> None:
    assert item(kind="weather", rain=True).change == Unknown()


def test_a_live_answer_without_news_is_read() -> None:
    assert decode(Live, {"seq": 3, "next_in_ms": 1500, "job": None}) == Live(3, 1500)


def test_times_keep_their_zone() -> None:
    job = decode(Live, ended("FINISHED")).job
    assert job is not None
    assert job.created_at == datetime(2026, 5, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: repr(vector["typed"])[:30])
def test_a_name_becomes_the_platforms_name(vector: dict[str, Any]) -> None:
    assert workspace_name(vector["typed"]) == vector["name"]


def stored(content: bytes, etag: str) -> ObjectInfo:
    return ObjectInfo("k", len(content), etag, datetime.now(UTC))


def md5(content: bytes) -> bytes:
    return hashlib.md5(content, usedforsecurity=False).digest()


def test_an_object_sent_in_one_piece_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    assert is_same(tmp_path / "f", stored(b"abc", md5(b"abc").hex()))


def test_an_object_sent_in_parts_is_recognised(tmp_path: Path) -> None:
    content = b"a" * 8 * MIB + b"rest"
    (tmp_path / "f").write_bytes(content)
    etag = md5(md5(content[: 8 * MIB]) + md5(b"rest")).hex() + "-2"
    assert is_same(tmp_path / "f", stored(content, etag))


def test_an_empty_object_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    assert is_same(tmp_path / "f", stored(b"", md5(md5(b"")).hex() + "-1"))


def test_an_object_of_the_same_size_and_other_bytes_is_not_the_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abd")
    assert not is_same(tmp_path / "f", stored(b"abc", md5(b"abc").hex()))

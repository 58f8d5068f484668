"""What the console may weigh, in bytes over the wire."""

import re

import pytest

from tests.ui import dist

pytestmark = pytest.mark.process

KB = 1000


def first(*suffixes: str) -> int:
    """What the files of these kinds in the first load weigh."""
    return sum(dist.packed(path) for path in dist.first_load() if path.suffix in suffixes)


def test_the_first_load_has_at_most_60_kb_of_scripts() -> None:
    assert 10 * KB < first(".js") <= 60 * KB


def test_all_styles_together_have_at_most_14_kb() -> None:
    assert KB < sum(map(dist.packed, dist.assets("*.css"))) <= 14 * KB


def test_the_fonts_have_at_most_40_kb() -> None:
    assert 10 * KB < sum(path.stat().st_size for path in dist.assets("*.woff2")) <= 40 * KB


def test_the_page_itself_has_at_most_3_kb() -> None:
    assert dist.packed(dist.FOLDER / "index.html") <= 3 * KB


@pytest.mark.parametrize(("chunk", "most"), [("editor", 156), ("validator", 8)])
def test_what_one_page_needs_keeps_to_its_budget(chunk: str, most: int) -> None:
    (path,) = dist.assets(f"{chunk}-*.js")
    assert KB < dist.packed(path) <= most * KB


@pytest.mark.parametrize("chunk", ["editor", "validator"])
def test_what_one_page_needs_is_not_in_the_first_load(chunk: str) -> None:
    (path,) = dist.assets(f"{chunk}-*.js")
    assert path not in dist.first_load()


def test_every_file_below_assets_has_its_hash_in_its_name() -> None:
    assert [path.name for path in dist.assets("*") if not re.search(r"-[\w-]{8}$", path.stem)] == []

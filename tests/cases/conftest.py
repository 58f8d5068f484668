"""An installation for the cases, driven through app.py's doors."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.world import World, world


@pytest.fixture
def it(tmp_path: Path) -> Iterator[World]:
    """A fresh installation."""
    with world(tmp_path) as made:
        yield made

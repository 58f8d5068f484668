"""Fixtures that several rooms share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.world import World, world


@pytest.fixture(name="world")
def fresh_world(tmp_path: Path) -> Iterator[World]:
    """A fresh installation over in-memory ports."""
    with world(tmp_path) as made:
        yield made

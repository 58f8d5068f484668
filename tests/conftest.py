"""Fixtures that several rooms share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.world import World, world

settings.register_profile("tutti", deadline=None)  # a loaded machine is no failure
settings.load_profile("tutti")


@pytest.fixture(name="world")
def fresh_world(tmp_path: Path) -> Iterator[World]:
    """A fresh installation over in-memory ports."""
    with world(tmp_path) as made:
        yield made

"""A fake Tutti that is up for one test."""

from collections.abc import Iterator

import pytest

from tests.client.builders import FakeTutti, served


@pytest.fixture
def tutti() -> Iterator[FakeTutti]:
    with served(FakeTutti()) as fake:
        yield fake

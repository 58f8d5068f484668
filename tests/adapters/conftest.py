"""Real services for the suites of the ports."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local_stack.object_store import SeaweedFS


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    """A running SeaweedFS of its own, whose events go to a port where nobody listens."""
    folder: Path = tmp_path_factory.mktemp("seaweed")
    store = SeaweedFS(folder, "http://127.0.0.1:9/nobody")
    store.start()
    yield store
    store.stop()

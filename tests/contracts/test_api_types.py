"""The console's types are those of the committed OpenAPI document."""

import subprocess
from pathlib import Path

import pytest

from local_stack.console_build import SITE, find_node

pytestmark = pytest.mark.process

COMMITTED = SITE / "src/core/api_types.d.ts"


def test_the_committed_types_are_current(tmp_path: Path) -> None:
    written = tmp_path / "api_types.d.ts"
    generator = SITE / "node_modules/openapi-typescript/bin/cli.js"
    assert generator.is_file(), "the console's packages are not installed: run 'make console'"
    subprocess.run(
        [find_node().node, generator, SITE.parent / "docs/openapi.json", "-o", written], check=True, cwd=SITE, capture_output=True
    )
    assert COMMITTED.read_text() == written.read_text(), "run 'npm run types' in static_site"

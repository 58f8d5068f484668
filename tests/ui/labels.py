"""The specification's words, which the pages show as they are."""

import json
from pathlib import Path
from typing import Any

LABELS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "labels.json").read_text())

"""``make schema``: write the committed OpenAPI document and the wizard's JSON Schema anew."""

import json
from pathlib import Path
from typing import Any

from app import app
from chalicelib.contracts.schema import wizard_schema
from chalicelib.entrypoints.openapi import document

DOCS = Path(__file__).parents[2] / "docs"


def documents() -> dict[Path, str]:
    """Each committed file and what it must hold."""
    return {DOCS / "openapi.json": _text(document(app)), DOCS / "wizard.schema.json": _text(wizard_schema())}


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write them all."""
    for path, text in documents().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

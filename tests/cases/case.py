"""The real-world cases in tests/vectors/cases: what goes in, and what must hold."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CASES_FOLDER = Path(__file__).parents[1] / "vectors" / "cases"


@dataclass(frozen=True)
class Case:
    """One case, by its id."""

    id: str

    @property
    def folder(self) -> Path:
        return CASES_FOLDER / self.id

    @property
    def expect(self) -> dict[str, Any]:
        """What must hold, as expectation.json says it."""
        expect: dict[str, Any] = json.loads(self.text("expectation.json"))["expect"]
        return expect

    @property
    def inputs(self) -> list[str]:
        """The names of the files to feed in, in order."""
        names: list[str] = json.loads(self.text("expectation.json"))["input"]
        return names

    def text(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def bytes(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def json(self, name: str) -> Any:
        return json.loads(self.text(name))

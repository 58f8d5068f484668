"""The colours of the console as numbers: every pair that meets on a page, in both themes."""

import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "static_site/src"
TOKENS = SOURCES / "style/tokens.css"
STYLED = sorted({*SOURCES.rglob("*.svelte"), *SOURCES.rglob("*.css"), SOURCES / "ui/code_editor.ts"} - {TOKENS})
THEMES = ("light", "dark")
TEXT, LARGE_OR_MARK = 4.5, 3.0
_SURFACES = ("paper", "sheet", "sunk", "wash", "picked")
_WORDS = ("ink", "ink-2", "ok", "wait", "bad")
_WORKERS = tuple(f"w{number}" for number in range(6))

TEXT_PAIRS = [(word, surface) for word in _WORDS for surface in _SURFACES] + [
    ("mark-ink", "mark"),
    ("ink", "mark-soft"),
    ("paper", "ink"),
    ("sheet", "ink"),
    *((worker, surface) for worker in _WORKERS for surface in ("paper", "sheet")),
]
"""Words, and what they are written on; a worker's name is written in its hue."""
MARK_PAIRS = [
    ("rule-2", "paper"),
    ("rule-2", "sheet"),
    ("act", "paper"),
    ("act", "sheet"),
    ("act", "wash"),
    ("now", "paper"),
    ("now", "sheet"),
]
"""Borders of controls, rings of focus and marks in charts, and what they lie on."""


def tokens(theme: str) -> dict[str, str]:
    """Every colour by name, as it is in this theme."""
    pairs = re.findall(r"--([\w-]+): (?:light-dark\((#\w{6}), (#\w{6})\)|(#\w{6}));", TOKENS.read_text())
    return {name: single or (light if theme == "light" else dark) for name, light, dark, single in pairs}


@pytest.mark.parametrize("path", STYLED, ids=lambda path: path.name)
def test_r2_colours_are_named_only_among_the_tokens(path: Path) -> None:
    assert re.findall(r":[^;\n]*?(#[0-9a-fA-F]{3,8}\b(?=[ ;,)\"])|\brgba?\(|\bhsla?\()", styles_of(path)) == []


@pytest.mark.parametrize("path", STYLED, ids=lambda path: path.name)
def test_r2_every_token_that_is_used_exists(path: Path) -> None:
    used = set(re.findall(r"var\(--([\w-]+)\)", path.read_text()))
    assert used - set(re.findall(r"--([\w-]+):", TOKENS.read_text())) == set()


def styles_of(path: Path) -> str:
    """What of a file is style."""
    text = path.read_text()
    return "".join(re.findall(r"<style>(.*?)</style>", text, re.DOTALL)) if path.suffix == ".svelte" else text


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2.2."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.2, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_r2_black_on_white_has_the_contrast_that_wcag_names() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("pair", TEXT_PAIRS, ids=" on ".join)
def test_r2_text_reads_at_4_5_to_1(pair: tuple[str, str], theme: str) -> None:
    colours = tokens(theme)
    assert contrast(colours[pair[0]], colours[pair[1]]) >= TEXT


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("pair", MARK_PAIRS, ids=" on ".join)
def test_r2_controls_and_marks_stand_out_at_3_to_1(pair: tuple[str, str], theme: str) -> None:
    colours = tokens(theme)
    assert contrast(colours[pair[0]], colours[pair[1]]) >= LARGE_OR_MARK

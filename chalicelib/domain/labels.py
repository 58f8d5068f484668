"""The class labels in a shard's ``labels.npy`` or ``labels.csv``, counted without numpy."""

import ast
import csv
import io
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

LARGEST = 1_000_000
"""Bytes; a longer label file is left to the training."""
MOST_CLASSES = 10_000
"""More different numbers than that are no class labels."""

_COLUMNS = ("label", "labels", "class", "target", "y")
_MAGIC = b"\x93NUMPY"
_CODES = {"i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q"}


@dataclass(frozen=True)
class LabelCount:
    """How often each label stands in one file of an archive."""

    entry: str
    counts: Mapping[int, int]


def is_label_file(name: str) -> bool:
    """Whether a member of an archive, in any folder, is taken for its labels."""
    return name.replace("\\", "/").rpartition("/")[2].lower() in ("labels.npy", "labels.csv")


def count_labels(name: str, content: bytes) -> LabelCount | None:
    """The labels in a label file; None when it holds anything but one whole number a sample."""
    try:
        values = _of_array(content) if name.lower().endswith(".npy") else _of_table(content)
    except (ValueError, SyntaxError, KeyError, TypeError, struct.error, csv.Error, RecursionError, MemoryError):
        return None
    counts = Counter(values)
    return LabelCount(name, counts) if 0 < len(counts) <= MOST_CLASSES else None


def _of_array(content: bytes) -> tuple[int, ...]:
    if not content.startswith(_MAGIC):
        raise ValueError("not an array file")
    wide = content[6] > 1
    start = 12 if wide else 10
    (length,) = struct.unpack_from("<I" if wide else "<H", content, 8)
    header = ast.literal_eval(content[start : start + length].decode("latin-1").strip())
    shape: tuple[int, ...] = header["shape"]
    if len(shape) not in (1, 2) or (len(shape) == 2 and shape[1] != 1):
        raise ValueError("more than one number a sample")
    order, code = header["descr"][0], _CODES[header["descr"][1:]]
    return struct.unpack_from(f"{'>' if order == '>' else '<'}{int(shape[0])}{code}", content, start + length)


def _of_table(content: bytes) -> list[int]:
    rows = [row for row in csv.reader(io.StringIO(content.decode("utf-8-sig"))) if row]
    column, first = _column(rows)
    return [int(row[column]) for row in rows[first:] if column < len(row)]


def _column(rows: list[list[str]]) -> tuple[int, int]:
    """Which column holds the labels and in which row they begin: the one with such a name, or the only one."""
    names = [name.strip().lower() for name in rows[0]] if rows else []
    named = next((names.index(name) for name in _COLUMNS if name in names), None)
    if named is not None:
        return named, 1
    if len(names) != 1:
        raise ValueError("no column says that it holds labels")
    return 0, 0 if names[0].lstrip("-").isdigit() else 1

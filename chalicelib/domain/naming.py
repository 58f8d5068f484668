"""The name of a workspace, from what a user types."""

import re
import unicodedata
from collections.abc import Container
from itertools import count

LONGEST = 63
_BLANKS = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(chr(c) for c in range(0x2000, 0x200B))
_DASHES = str.maketrans(dict.fromkeys(_BLANKS, "-"))
_DROPPED = re.compile(r"[^a-z0-9_-]")


def clean_name(typed: str) -> str | None:
    """The folder name these keystrokes give, at most 63 of ``a-z 0-9 - _``; None when no letter or digit is left."""
    folded = unicodedata.normalize("NFKD", typed).strip(_BLANKS).lower()
    name = _DROPPED.sub("", folded.translate(_DASHES))[:LONGEST]
    return name if re.search(r"[a-z0-9]", name) else None


def free_name(name: str, taken: Container[str]) -> str:
    """``name`` itself when it is not taken, else the first free of ``name-2``, ``name-3`` …, cut so that 63 are not passed."""
    if name not in taken:
        return name
    tries = (f"{name[: LONGEST - len(tail)]}{tail}" for tail in (f"-{n}" for n in count(2)))
    return next(each for each in tries if each not in taken)

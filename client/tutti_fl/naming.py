"""The name of a workspace from what a user types: the platform's rule, known here to show the name at once."""

import re
import unicodedata

LONGEST = 63
BLANKS = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def workspace_name(typed: str) -> str | None:
    """The folder this gives under ``jobs/``; None when no letter or digit is left."""
    folded = unicodedata.normalize("NFKD", typed).strip(BLANKS).lower()
    dashed = "".join("-" if character in BLANKS else character for character in folded)
    name = re.sub(r"[^a-z0-9_-]", "", dashed)[:LONGEST]
    return name if any(character.isalnum() for character in name) else None

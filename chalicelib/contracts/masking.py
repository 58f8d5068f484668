"""Secrets taken out of text before it is stored, sent or shown: the one set of rules for platform, worker and stack.

``client/tutti_fl/masking.py`` is the same file, since the client imports nothing of the project; a test keeps them alike.
"""

import re
from collections.abc import Callable, Iterable

MASK = "***"

_Rule = tuple[tuple[str, ...], Callable[[str], str]]
"""Words of which the lower-case text must hold one, and what is done to it then: most lines hold none and cost a glance."""

_PRIVATE_KEY = re.compile(r"(-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----)(?:[\w+/=\s]|\\+[nr]){8,}")
_BY_FORM = re.compile(
    r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"  # a JSON web token
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"  # an access key of AWS
    r"|\btutti_[\w-]{40,}"  # our own keys, codes and tokens
    r"|\b(?:hf_|gh[opsu]_|glpat-|xox[abprs]-|sk-)[A-Za-z0-9_-]{20,}"  # what people have beside them
)
_URL_PASSWORD = re.compile(r"(://[^/\s:@]{0,128}:)[^/\s@\"'<>\\]{1,512}(?=@)")
_SIGNED = re.compile(r"(?i)(x-amz-(?:signature|credential|security-token)['\"\\]*\s?(?:=|:|%3D)\s?['\"\\]*)[^&\s\"'<>\\]+")
_QUERY = re.compile(
    r"(?i)([?&](?:signature|sig|token|(?:access|auth|refresh|id)_?token|awsaccesskeyid|api_?key|password)=)[^&\s\"'<>\\]+"
    r"|([?&]code(?:_verifier)?=)[^&\s\"'<>\\]{16,}"
)
_HEADER = re.compile(
    r"(?i)(authorization['\"\\]*\s{0,3}[:=]\s{0,3}(?:b?['\"\\]+)?(?:basic|bearer|digest|token)\s+)[^\s\"'\\,]{4,}"
)
_BEARER = re.compile(r"(?i)(\bbearer\s+)([\w.~+/=-]{12,})")
_PASSWORD = re.compile(
    r"(?i)(passw(?:or)?d|passphrase)(['\"\\]*\s{0,3}[:=]\s{0,3}['\"\\]*)(?!none\b|null\b|true\b|false\b)[^\s\"'\\,;&]{4,}"
)
_ASSIGNED = re.compile(r"([:=]\s{0,3}(?:b?['\"\\]+)?)([\w.~+/=%-]{12,})")
_SECRET_NAME = re.compile(
    r"(?i)(?:token|secret|signature|credential|authorization|(?:api|access|private)[_-]?key|cookie|ssid|nonce|(?<![a-z])code)"
    r"(?:s|id|[_-](?:id|key|value|access[_-]?key|signature|token|verifier))*['\"\\]*\s{0,3}\Z"
)
_LONGEST_NAME = 80
_HEX = re.compile(r"[0-9a-fA-F]{32,}\Z")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")


def mask(text: str) -> str:
    """The text with ``***`` for each secret that its form or its name betrays; paths, hashes and numbers stay."""
    low = text.lower()
    for words, act in _RULES:
        if any(word in low for word in words):
            text = act(text)
    return text


def masker(known: Iterable[str]) -> Callable[[str], str]:
    """``mask`` that also takes out these very secrets, whatever stands around them; one under 8 characters is let be."""
    secrets = sorted((secret for secret in known if len(secret) >= 8), key=len, reverse=True)

    def masked(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, MASK)
        return mask(text)

    return masked


def _replacing(pattern: re.Pattern[str]) -> Callable[[str], str]:
    """What the groups of the pattern hold stays, the rest of a match is masked."""

    def replaced(found: re.Match[str]) -> str:
        return "".join(group or "" for group in found.groups()) + MASK

    return lambda text: pattern.sub(replaced, text)


def _mask_bearers(text: str) -> str:
    return _BEARER.sub(lambda found: f"{found[1]}{MASK}" if _is_random(found[2]) else found[0], text)


def _mask_named(text: str) -> str:
    def replaced(found: re.Match[str]) -> str:
        if not _is_random(found[2]):
            return found[0]
        before = text[max(0, found.start() - _LONGEST_NAME) : found.start()]
        return f"{found[1]}{MASK}" if _SECRET_NAME.search(before) else found[0]

    return _ASSIGNED.sub(replaced, text)


def _is_random(value: str) -> bool:
    """Whether a value looks drawn, not written: words, paths, numbers and dates do not."""
    if _HEX.match(value) or _UUID.match(value):
        return True
    if value.startswith(("/", "./", "~")):  # a path, unless a part of it is as long as a secret that happens to begin so
        return any(len(part) >= 16 and _is_random(part) for part in value.lstrip("./~").split("/"))
    digits = sum(char.isdigit() for char in value)
    if not digits:
        return False
    upper, lower = any(char.isupper() for char in value), any(char.islower() for char in value)
    if upper and lower:
        return True
    return (upper or lower) and len(value) >= 20 and digits >= 4 and value.rstrip("=").isalnum()


_RULES: tuple[_Rule, ...] = (
    (("private key",), _replacing(_PRIVATE_KEY)),
    (("eyj", "akia", "asia", "tutti_", "hf_", "ghp_", "gho_", "ghs_", "ghu_", "glpat-", "xox", "sk-"), _replacing(_BY_FORM)),
    (("://",), _replacing(_URL_PASSWORD)),
    (("x-amz-",), _replacing(_SIGNED)),
    (("sig", "token", "key", "code", "password="), _replacing(_QUERY)),
    (("authorization",), _replacing(_HEADER)),
    (("passw", "passphrase"), _replacing(_PASSWORD)),
    (("bearer",), _mask_bearers),
    (("token", "secret", "signature", "credential", "auth", "key", "cookie", "ssid", "nonce", "code"), _mask_named),
)

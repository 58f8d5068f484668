"""Who may sign requests to the local object store: the platform, and one identity per bucket for other tools."""

import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from local_stack.private_files import write_private

_PLATFORM = "platform"
_EVERYTHING = ["Admin", "Read", "Write", "List", "Tagging"]
_OF_ONE_BUCKET = ["Read", "Write", "List", "Tagging"]


@dataclass(frozen=True)
class KeyPair:
    """What signs a request."""

    access_key: str
    secret_key: str

    @classmethod
    def random(cls) -> "KeyPair":
        """A new pair; the secret has 240 bits of chance."""
        return cls(access_key=f"TU{secrets.token_hex(9).upper()}", secret_key=secrets.token_urlsafe(30))


class StoreIdentities:
    """SeaweedFS's identities file, kept private. An identity is replaced, never removed: the store forgets no name."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = Lock()

    def platform(self) -> KeyPair:
        """The pair that may do everything; made on first use and kept."""
        with self._lock:
            for identity in self._read():
                if identity["name"] == _PLATFORM:
                    pair = identity["credentials"][0]
                    return KeyPair(pair["accessKey"], pair["secretKey"])
            made = KeyPair.random()
            self._write([_identity(_PLATFORM, made, _EVERYTHING)])
            return made

    def replace(self, bucket: str) -> KeyPair:
        """A new pair for this bucket alone; the file no longer has the one before."""
        made = KeyPair.random()
        name = f"bucket-{bucket}"
        with self._lock:
            others = [identity for identity in self._read() if identity["name"] != name]
            actions = [f"{action}:{bucket}" for action in _OF_ONE_BUCKET]
            self._write([*others, _identity(name, made, actions)])
        return made

    def _read(self) -> list[dict[str, Any]]:
        if not self._file.exists():
            return []
        identities: list[dict[str, Any]] = json.loads(self._file.read_text())["identities"]
        return identities

    def _write(self, identities: list[dict[str, Any]]) -> None:
        write_private(self._file, json.dumps({"identities": identities}, indent=1))


def _identity(name: str, pair: KeyPair, actions: list[str]) -> dict[str, Any]:
    credentials = [{"accessKey": pair.access_key, "secretKey": pair.secret_key}]
    return {"name": name, "credentials": credentials, "actions": actions}

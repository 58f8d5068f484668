"""Where Tutti is and the token for it: from the environment, else from a file only its owner can read."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from tutti_fl.errors import NotSignedIn, TuttiError


@dataclass(frozen=True)
class Credentials:
    """An address, and what opens it: an access token of a sign-in, or an API key (which does not expire)."""

    url: str
    token: str
    expires_at: str | None = None

    @property
    def expired(self) -> bool:
        """True when the sign-in is over."""
        return self.expires_at is not None and datetime.fromisoformat(self.expires_at) <= datetime.now(UTC)


class CredentialsFile:
    """``credentials.json`` in the user's configuration folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> Credentials | None:
        """What was stored; None when there is nothing."""
        try:
            stored = json.loads(self.path.read_text())
            return Credentials(str(stored["url"]), str(stored["token"]), stored.get("expires_at"))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise TuttiError("usage", f"{self.path} is not readable: {error}", "Remove it and run 'tutti login'.") from error

    def save(self, credentials: Credentials) -> None:
        """Replace what is stored. The file is 0600 from its first byte on."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(asdict(credentials), file, indent=1)
        new.replace(self.path)


def credentials_file(environ: Mapping[str, str]) -> CredentialsFile:
    """``$XDG_CONFIG_HOME/tutti/credentials.json``."""
    home = environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return CredentialsFile(Path(home) / "tutti" / "credentials.json")


def find_url(environ: Mapping[str, str], given: str | None = None) -> str:
    """The address: given, else TUTTI_URL, else the one signed in to last."""
    if url := given or environ.get("TUTTI_URL"):
        return url
    stored = credentials_file(environ).load()
    if stored is None:
        raise TuttiError("usage", "which Tutti?", "Give its address: 'tutti login http://127.0.0.1:8080', or set TUTTI_URL.")
    return stored.url


def find_credentials(environ: Mapping[str, str]) -> Credentials:
    """Address and token; TUTTI_URL and TUTTI_TOKEN win over the file. NotSignedIn when there is no token for the address."""
    url, token = find_url(environ), environ.get("TUTTI_TOKEN")
    if token:
        return Credentials(url, token)
    stored = credentials_file(environ).load()
    if stored is None or stored.url.rstrip("/") != url.rstrip("/"):
        raise NotSignedIn(f"you are not signed in to {url}")
    if stored.expired:
        raise NotSignedIn(f"your sign-in to {url} is over", "Run 'tutti login' again; an API key ('tutti login --key') lasts.")
    return stored

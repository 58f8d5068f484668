"""Where a command reads and writes."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

from rich.console import Console

from tutti_fl.client import Client
from tutti_fl.credentials import find_credentials
from tutti_fl.masking import mask
from tutti_fl.plain_teller import PlainTeller
from tutti_fl.rich_teller import RichTeller
from tutti_fl.run import Teller
from tutti_fl.transport import Retries


@dataclass(frozen=True)
class Terminal:
    """Where a command reads and writes, and its environment."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    environ: Mapping[str, str]
    retries: Retries = field(default_factory=Retries)

    def say(self, *lines: str) -> None:
        """Lines for a person or a pipe."""
        for line in lines:
            print(line, file=self.stdout)

    def warn(self, *lines: str) -> None:
        """Lines about what went wrong; what they quote may hold a token or a signed URL, which is masked."""
        for line in lines:
            print(mask(line), file=self.stderr)

    def document(self, content: object) -> None:
        """The one document of ``--json``, secrets masked."""
        print(mask(json.dumps(content, indent=2, allow_nan=False)), file=self.stdout)

    def is_drawn_on(self) -> bool:
        """True for a person's screen that can move its cursor; False for pipes, files and ``TERM=dumb``."""
        return self.stdout.isatty() and self.environ.get("TERM") != "dumb"

    def console(self) -> Console:
        """Standard output with colours, where it has them and NO_COLOR does not forbid them."""
        return Console(file=self.stdout, highlight=False, no_color="NO_COLOR" in self.environ or not self.is_drawn_on())

    @contextmanager
    def teller(self, *, as_json: bool) -> Iterator[Teller]:
        """Progress: a moving picture on a terminal, plain lines elsewhere; on standard error when a document is wanted."""
        if as_json or not self.is_drawn_on():
            yield PlainTeller(self.stderr if as_json else self.stdout)
            return
        with RichTeller(self.console()) as teller:
            yield teller

    def client(self) -> Client:
        """The API as the signed-in user."""
        found = find_credentials(self.environ)
        return self.open(found.url, found.token)

    def open(self, url: str, token: str) -> Client:
        """The API with this token."""
        return Client(url, token, retries=self.retries, pause=self.retries.pause)

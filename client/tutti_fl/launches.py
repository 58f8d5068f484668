"""Which launch of a workspace was under way, so that a run that broke off finds its job again and starts no second one."""

import hashlib
import json
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from tutti_fl.memory import Memory
from tutti_fl.shapes.files import ObjectInfo


@dataclass(frozen=True)
class LaunchNote:
    """A launch that was asked for: its client token, and what it was to run on what."""

    client_token: str
    content: str
    gpu_type: str


class Launches:
    """The launches of one platform's workspaces that this machine asked for and has not seen to their end."""

    def __init__(self, memory: Memory, url: str) -> None:
        self._memory, self._url = memory, url

    def recall(self, workspace: str, content: str) -> LaunchNote | None:
        """The launch of exactly this content that broke off; None when there is none."""
        try:
            note = LaunchNote(**json.loads(self._memory.recall(self._what(workspace)) or "null"))
        except (TypeError, ValueError):
            return None
        return note if note.content == content else None

    def begin(self, workspace: str, content: str, gpu_type: str) -> LaunchNote:
        """A new launch, remembered before it is asked for."""
        note = LaunchNote(uuid.uuid4().hex, content, gpu_type)
        self._memory.remember(self._what(workspace), json.dumps(asdict(note)))
        return note

    def forget(self, workspace: str) -> None:
        """Its end has been seen."""
        self._memory.forget(self._what(workspace))

    def _what(self, workspace: str) -> str:
        return f"launch\n{self._url}\n{workspace}"


def content_of(inputs: Iterable[ObjectInfo]) -> str:
    """A short text that is the same exactly when a workspace's inputs are."""
    lines = "\n".join(f"{item.key} {item.etag}" for item in sorted(inputs, key=lambda item: item.key))
    return hashlib.sha256(lines.encode()).hexdigest()

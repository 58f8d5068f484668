"""Tutti from Python: ``Client(url, token)`` and the shapes it answers with."""

from tutti_fl.client import Client
from tutti_fl.errors import NotSignedIn, TransferFailed, TuttiError, Unreachable
from tutti_fl.memory import FolderMemory, Memory, NoMemory, state_memory
from tutti_fl.meter import Progress
from tutti_fl.transfer import Send
from tutti_fl.transport import Retries
from tutti_fl.workspaces import Settings, Typed

__all__ = [
    "Client",
    "FolderMemory",
    "Memory",
    "NoMemory",
    "NotSignedIn",
    "Progress",
    "Retries",
    "Send",
    "Settings",
    "TransferFailed",
    "TuttiError",
    "Typed",
    "Unreachable",
    "state_memory",
]

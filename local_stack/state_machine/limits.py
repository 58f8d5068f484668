"""The quotas of AWS that a definition must live within."""

from dataclasses import dataclass

from local_stack.state_machine.faults import DATA_LIMIT, Fault


@dataclass(frozen=True)
class Limits:
    """AWS's numbers for standard workflows; smaller ones are for tests."""

    payload_bytes: int = 256 * 1024
    events: int = 25_000
    items_at_once: int = 40

    def fit(self, text: str, what: str) -> str:
        """The text itself. Longer than a payload may be: States.DataLimitExceeded, naming ``what`` it is."""
        if len(text) * 4 > self.payload_bytes and len(text.encode()) > self.payload_bytes:
            raise Fault(DATA_LIMIT, f"{what} exceeds the maximum of {self.payload_bytes} bytes")
        return text

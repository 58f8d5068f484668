"""The functions that the small machines call."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from pydantic import JsonValue

from local_stack.state_machine.operations import Refused
from tests.state_machine.builders import CustomErr, Json, Simulation, Slow


class Functions:
    """Functions of one simulation; the awaited ones answer through its operations."""

    def __init__(self, simulation: Simulation) -> None:
        self._on = simulation
        self._tries: Counter[str] = Counter()
        self.tokens: list[str] = []
        simulation.functions |= {
            "echo": lambda payload: payload,
            "boom": self.boom,
            "flaky": self.flaky,
            "sleeper": lambda payload: Slow(_number(payload["s"]), {"slept": payload["s"]}),
            "launcher": self.launcher,
        }

    def boom(self, payload: Json) -> JsonValue:
        """Always fails."""
        raise CustomErr("it broke")

    def flaky(self, payload: Json) -> JsonValue:
        """Fails until its n-th call."""
        self._tries["flaky"] += 1
        if self._tries["flaky"] < _number(payload["n"]):
            raise CustomErr(f"try {self._tries['flaky']}")
        return {"tries": self._tries["flaky"]}

    def launcher(self, payload: Json) -> JsonValue:
        """Keeps the token, and does with it what ``mode`` says, later."""
        token, mode = str(payload["token"]), str(payload["mode"])
        self.tokens.append(token)
        on = self._on.operations
        if mode == "success":
            self._on.after(_number(payload.get("delay", 0.5)), lambda: on.succeed(token, f'{{"ok":{payload["id"]}}}'))
        if mode == "fail":
            self._on.after(0.5, lambda: on.fail(token, "WorkerCrashed", "exit 137"))
        if mode == "beats":
            for beat in range(5):
                self._on.after(0.6 * (beat + 1), lambda: _unless_over(lambda: on.heartbeat(token)))
            self._on.after(3.2, lambda: on.succeed(token, '{"beats":5}'))
        return None


def _unless_over(tell: Callable[[], None]) -> None:
    with suppress(Refused):
        tell()


def _number(value: JsonValue) -> float:
    assert isinstance(value, int | float)
    return value

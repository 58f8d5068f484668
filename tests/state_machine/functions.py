"""The functions that the small machines call, and those of a training job, in virtual time or in real time."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from botocore.exceptions import ClientError
from pydantic import JsonValue

from local_stack.state_machine.operations import Refused
from tests.state_machine.builders import FUNCTIONS, CustomErr, Function, Json, Slow


class Tasks(Protocol):
    """What takes the answers of tasks by their tokens."""

    def succeed(self, token: str, output: str) -> None:
        """End the task with this JSON."""

    def fail(self, token: str, error: str | None, cause: str | None) -> None:
        """Fail the task."""

    def heartbeat(self, token: str) -> None:
        """Keep the task alive."""


class World(Protocol):
    """Time, and the service that the tokens are of."""

    @property
    def operations(self) -> Tasks:
        """The service."""

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Do this that much later."""


class Functions:
    """Functions of one execution; the awaited ones answer through its service."""

    def __init__(self, world: World) -> None:
        self._on = world
        self._tries = self._running = 0
        self.tokens: list[str] = []
        self.by_name: dict[str, Function] = {
            "echo": lambda payload: payload,
            "boom": self.boom,
            "flaky": self.flaky,
            "crowded": self.crowded,
            "sleeper": lambda payload: Slow(_number(payload["s"]), {"slept": payload["s"]}),
            "launcher": self.launcher,
        }

    def boom(self, payload: Json) -> JsonValue:
        """Always fails."""
        raise CustomErr("it broke")

    def flaky(self, payload: Json) -> JsonValue:
        """Fails until its n-th call, with the ``errors`` in turn when there are any; then shows ``r``."""
        self._tries += 1
        errors = payload.get("errors")
        if self._tries < _number(payload["n"]):
            name = str(errors[self._tries - 1]) if isinstance(errors, list) else "CustomErr"
            raise type(name, (CustomErr,), {})(f"try {self._tries}")
        return {"tries": self._tries, **({"r": payload["r"]} if "r" in payload else {})}

    def crowded(self, payload: Json) -> "JsonValue | Slow":
        """Takes ``s`` seconds, and fails when more than ``most`` of it run at once."""
        self._running += 1
        if self._running > _number(payload["most"]):
            raise CustomErr(f"{self._running} run at once")
        # A little before the answer, so that the next call never overlaps by a hair.
        self._on.after(_number(payload["s"]) * 0.9, self._one_less)
        return Slow(_number(payload["s"]))

    def _one_less(self) -> None:
        self._running -= 1

    def launcher(self, payload: Json) -> JsonValue:
        """Keeps the token, and does with it what ``mode`` says, later."""
        token, mode = str(payload["token"]), str(payload["mode"])
        on, delay = self._on.operations, _number(payload.get("delay", 0.5))
        first = not self.tokens
        new = token not in self.tokens
        self.tokens.append(token)
        if mode == "beats":
            for beat in range(4):
                self._on.after(1.2 * (beat + 1), lambda: _unless_over(lambda: on.heartbeat(token)))
            self._on.after(6, lambda: _unless_over(lambda: on.succeed(token, '{"beats":4}')))
        elif mode == "fail" or (mode == "fresh" and first):
            self._on.after(delay, lambda: on.fail(token, "WorkerCrashed", "exit 137"))
        elif mode == "nameless":
            self._on.after(delay, lambda: on.fail(token, None, None))
        elif mode != "dead":
            answers = {"success": f'{{"ok":{payload.get("id")}}}', "text": '"plain"', "fresh": f'{{"fresh":{str(new).lower()}}}'}
            self._on.after(delay, lambda: _unless_over(lambda: on.succeed(token, answers[mode])))
        return None


@dataclass
class JobFunctions:
    """The functions of a training job: they note their calls, fail as told, and answer their tokens a second later."""

    on: World
    sites: int = 3
    errors: dict[str, list[Exception]] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    plan: Mapping[str, int] = field(default_factory=lambda: {"heartbeat_s": 660, "start_s": 1000})
    answer: JsonValue = None
    calls: list[tuple[str, Json]] = field(default_factory=list)

    @property
    def by_name(self) -> dict[str, Function]:
        """Each function under its name."""
        return {name: lambda payload, name=name: self.call(name, payload) for name in FUNCTIONS}  # type: ignore[misc]

    def call(self, name: str, payload: Json) -> "JsonValue | Slow":
        """One call of a function."""
        self.calls.append((name, payload))
        if self.errors.get(name):
            raise self.errors[name].pop(0)
        if "token" in payload and name not in self.silent:
            self.on.after(1, lambda: _unless_over(lambda: self.on.operations.succeed(str(payload["token"]), "{}")))
        if name == "Prepare":
            return {"sites": [f"site-{i + 1}" for i in range(self.sites)], **self.plan}
        return self.answer

    def called(self, name: str) -> list[Json]:
        """The payloads this function was called with."""
        return [payload for called, payload in self.calls if called == name]

    @property
    def counts(self) -> Counter[str]:
        """How often each function was called."""
        return Counter(name for name, _ in self.calls)


def _unless_over(tell: Callable[[], None]) -> None:
    with suppress(Refused, ClientError):
        tell()


def _number(value: JsonValue) -> float:
    assert isinstance(value, int | float)
    return value

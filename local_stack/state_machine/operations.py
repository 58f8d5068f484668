"""The operations of the service, as its protocol knows them, over the records."""

import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from local_stack.state_machine import definition
from local_stack.state_machine.faults import TASK_FAILED, Fault
from local_stack.state_machine.interpreter import Interpreter
from local_stack.state_machine.limits import Limits
from local_stack.state_machine.payload import parsed
from local_stack.state_machine.records import Event, Execution, MachineRow

_ARN = "arn:aws:states:us-east-1:000000000000"
_NAME = re.compile(r"""[^\s<>{}\[\]?*"#%\\^|~`$&,;:/\x00-\x1f\x7f-\x9f]{1,80}""")
_TOKEN = re.compile(r"(\d{1,18})-\d{1,18}-[0-9a-f]{40}")


class Refused(Exception):
    """An operation that AWS would refuse with this code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Operations:
    """What boto3's ``stepfunctions`` client can ask. ``changed`` is called after whatever may give the loop work."""

    interpreter: Interpreter
    limits: Limits
    clock: Callable[[], float]
    changed: Callable[[], None]

    # --- machines

    def install(self, name: str, text: str, role: str = "") -> str:
        """Have a machine of this name with this definition; its ARN. Executions that run keep the definition they have."""
        arn = f"{_ARN}:stateMachine:{name}"
        if self.interpreter.records.machine(arn) is None:
            return self.create_machine(name, text, role).arn
        return self.update_machine(arn, text, role).arn

    def create_machine(self, name: str, text: str, role: str) -> MachineRow:
        """A new machine, or the one that is the same already. Another of the name: StateMachineAlreadyExists."""
        _checked_name(name)
        _checked_definition(text)
        machine = MachineRow(f"{_ARN}:stateMachine:{name}", name, text, role, self.clock(), self.clock())
        with self.interpreter.records.transaction():
            there = self.interpreter.records.machine(machine.arn)
            if there is None:
                self.interpreter.records.put_machine(machine)
                return machine
        if (there.definition, there.role) != (text, role):
            raise Refused("StateMachineAlreadyExists", f"State Machine Already Exists: '{machine.arn}'")
        return there

    def update_machine(self, arn: str, text: str | None, role: str | None) -> MachineRow:
        """The machine with another definition or role, for executions that start from now on."""
        if text is not None:
            _checked_definition(text)
        with self.interpreter.records.transaction():
            old = self.machine(arn)
            new = MachineRow(arn, old.name, text or old.definition, role or old.role, old.created, self.clock())
            self.interpreter.records.put_machine(new)
        return new

    def machine(self, arn: str) -> MachineRow:
        """The machine. Absent: StateMachineDoesNotExist."""
        found = self.interpreter.records.machine(_checked_arn(arn, "stateMachine"))
        if found is None:
            raise Refused("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{arn}'")
        return found

    def machines(self) -> Sequence[MachineRow]:
        """All machines, by name."""
        return self.interpreter.records.machines()

    # --- executions

    def start_execution(self, machine_arn: str, name: str | None, given: str) -> Execution:
        """A new execution, or the one of the name that runs with the same input. Another of the name: ExecutionAlreadyExists."""
        machine = self.machine(machine_arn)
        _checked_input(given, self.limits)
        name = _checked_name(name or str(uuid.uuid4()))
        arn = f"{machine_arn.replace(':stateMachine:', ':execution:')}:{name}"
        with self.interpreter.records.transaction():
            there = self.interpreter.records.execution(arn)
            if there is None:
                return self._start(machine, arn, name, given)
        if there.status != "RUNNING" or there.input != given:
            raise Refused("ExecutionAlreadyExists", f"Execution Already Exists: '{arn}'")
        return there

    def _start(self, machine: MachineRow, arn: str, name: str, given: str) -> Execution:
        seconds, now = definition.parse(machine.definition).timeout_seconds, self.clock()
        records = self.interpreter.records
        records.add_execution({
            "arn": arn, "machine": machine.arn, "name": name, "input": given, "definition": machine.definition,
            "status": "RUNNING", "started": now, "deadline": None if seconds is None else now + seconds,
        })  # fmt: skip
        execution = self.execution(arn)
        self.interpreter.walker.begin(execution, machine.role)
        self.changed()
        return execution

    def stop_execution(self, arn: str, error: str | None, cause: str | None) -> Execution:
        """The execution, ended as ABORTED if it was running; no state of it runs any more."""
        with self.interpreter.records.transaction():
            execution = self.execution(arn)
            if execution.status == "RUNNING":
                self.interpreter.walker.end(execution.id, "ABORTED", error=error, cause=cause)
        self.changed()
        return self.execution(arn)

    def execution(self, arn: str) -> Execution:
        """The execution. Absent: ExecutionDoesNotExist."""
        found = self.interpreter.records.execution(_checked_arn(arn, "execution"))
        if found is None:
            raise Refused("ExecutionDoesNotExist", f"Execution Does Not Exist: '{arn}'")
        return found

    def executions(self, machine_arn: str, status: str | None) -> Sequence[Execution]:
        """The machine's executions, newest first."""
        return self.interpreter.records.executions(self.machine(machine_arn).arn, status)

    def history(self, arn: str, skip: int = 0, most: int = -1, *, backwards: bool = False) -> Sequence[Event]:
        """The events of the execution in order or ``backwards``: at most so many (-1: all), after those to skip."""
        return self.interpreter.records.events(self.execution(arn).id, skip, most, backwards=backwards)

    def redrive(self, arn: str) -> None:
        """Never done here: ExecutionNotRedrivable, or ExecutionDoesNotExist."""
        name = self.execution(arn).name
        raise Refused("ExecutionNotRedrivable", f"'{name}' cannot be redriven on this machine; start a new execution")

    # --- tasks

    def succeed(self, token: str, output: str) -> None:
        """End the waiting task with this JSON. Over already: TaskTimedOut or TaskDoesNotExist. Not JSON: InvalidOutput."""
        if not _is_json(output):
            raise Refused("InvalidOutput", "Invalid Output: the output is not JSON")
        self._tell(token, self.interpreter.succeed(token, output))

    def fail(self, token: str, error: str | None, cause: str | None) -> None:
        """Fail the waiting task."""
        self._tell(token, self.interpreter.fail(token, Fault(error or TASK_FAILED, cause or "")))

    def heartbeat(self, token: str) -> None:
        """Start the heartbeat period of the waiting task again."""
        self._tell(token, self.interpreter.keep_alive(token))

    def _tell(self, token: str, found: bool) -> None:
        if found:
            self.changed()
            return
        parts = _TOKEN.fullmatch(token)
        if parts is None:
            raise Refused("InvalidToken", "Invalid Token: 'Invalid token'")
        if self.interpreter.records.execution(int(parts[1])) is None:
            raise Refused("TaskDoesNotExist", "Task does not exist")
        raise Refused("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise Refused("InvalidName", f"Invalid Name: '{name}'")
    return name


def _checked_arn(arn: str, kind: str) -> str:
    if not arn.startswith("arn:") or f":states:us-east-1:000000000000:{kind}:" not in arn:
        raise Refused("InvalidArn", f"Invalid Arn: '{arn}' is no {kind} of this service")
    return arn


def _checked_definition(text: str) -> None:
    try:
        definition.parse(text)
    except definition.InvalidDefinition as error:
        raise Refused("InvalidDefinition", f"Invalid State Machine Definition: '{error}'") from error


def _checked_input(given: str, limits: Limits) -> None:
    if not _is_json(given) or len(given.encode()) > limits.payload_bytes:
        cause = f"it is no JSON of up to {limits.payload_bytes} bytes"
        raise Refused("InvalidExecutionInput", f"Invalid State Machine Execution Input: {cause}")


def _is_json(text: str) -> bool:
    try:
        parsed(text)
    except (ValueError, RecursionError):
        return False
    return True

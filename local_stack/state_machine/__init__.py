"""A durable interpreter of the Amazon States Language for one machine; ``Engine`` runs it, ``Protocol`` speaks for it."""

from local_stack.state_machine.definition import substituted
from local_stack.state_machine.engine import Engine
from local_stack.state_machine.operations import Operations, Refused
from local_stack.state_machine.protocol import Protocol

__all__ = ["Engine", "Operations", "Protocol", "Refused", "substituted"]

"""One worker's life, and every way it can end."""

import os
import threading

from chalicelib.contracts.worker import Role
from tutti_worker.client_role import ClientRole
from tutti_worker.interrupts import exit_code_of
from tutti_worker.server_role import ServerRole
from tutti_worker.trouble import Failure, JobGone, Leave, Superseded
from tutti_worker.worker import Worker, unexpected, within

_LEAVE_WITHIN_S = 22.0
_SHIP_S = 12.0
_FLUSH_S = 5.0


def supervise(worker: Worker) -> int:
    """Sign in, play the assigned role, and leave nothing behind; returns the exit status."""
    worker.interrupts.install()
    role: ServerRole | ClientRole | None = None
    try:
        worker.sign_in()
        role = (ServerRole if worker.assignment.role is Role.SERVER else ClientRole)(worker)
        role.run()
        worker.forget_kits()
        worker.outbox.flush(worker.settings.api_patience_s)
        worker.interrupts.ignore()
        return 0
    except Leave as reason:
        worker.interrupts.ignore()
        return _leave(worker, role, reason)
    except BaseException as error:  # noqa: BLE001 - the door of the worker: whatever happened is said once
        # A signal while the failure is being told takes nothing back, but only so much time is left then.
        worker.interrupts.ignore(lambda: _guard_exit(1))
        return _fail(worker, role, error)
    finally:
        _close(worker)


def _leave(worker: Worker, role: ServerRole | ClientRole | None, reason: Leave) -> int:
    _guard_exit(exit_code_of(reason))
    worker.warm.close()
    if role is not None and not isinstance(reason, JobGone | Superseded):
        worker.stop_waiting()
        worker.stop_federation()
        worker.forget_kits()
        worker.say(f"leaving: {reason}")
        within(role.ship, _SHIP_S)
        worker.ship_logs(_FLUSH_S)
        worker.outbox.flush(_FLUSH_S)
    return exit_code_of(reason)


def _fail(worker: Worker, role: ServerRole | ClientRole | None, error: BaseException) -> int:
    if role is None:
        raise error
    worker.fail(error.cause if isinstance(error, Failure) else unexpected(error, worker.assignment.site))
    worker.stop_federation()
    worker.forget_kits()
    within(role.ship, _SHIP_S)
    worker.ship_logs(_FLUSH_S)
    worker.outbox.flush(worker.settings.api_patience_s)
    return 1


def _close(worker: Worker) -> None:
    worker.warm.close()
    worker.close()


def _guard_exit(status: int) -> None:
    """Leave after 22 s whatever hangs: the starter kills at 25."""
    guard = threading.Timer(_LEAVE_WITHIN_S, os._exit, (status,))
    guard.daemon = True
    guard.start()

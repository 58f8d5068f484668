"""The user's own machine as a fleet: slots of its processor and its CUDA devices, free of charge."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from sqlite3 import Connection, Row

from chalicelib.contracts.offers import Lease, Offer, OwnerKind, Requirements
from chalicelib.domain.errors import NoCapacity
from local_stack.machine import Device, Machine
from local_stack.records.file import Records

_CPU = "cpu"


@dataclass(frozen=True)
class _Pool:
    """The slots of one type, in the order they are given out, and the offer they share."""

    slots: tuple[str, ...]
    offer: Offer


class LaptopFleet:
    """Fleet over one machine; leases live in the records, so they outlast the stack."""

    def __init__(self, records: Records, machine: Machine) -> None:
        self._records = records
        self._pools = {pool.offer.gpu_type: pool for pool in _pools(machine)}

    def offers(self) -> Sequence[Offer]:
        """One offer per type, ``cpu`` first, with its free count now."""
        with self._records.reading() as connection:
            held = _held(connection)
        return tuple(pool.offer.model_copy(update={"free": len(_free(pool, held))}) for pool in self._pools.values())

    def reserve(self, job_id: str, requirements: Requirements, count: int) -> Sequence[Lease]:
        """Hold ``count`` free slots of the type for this job, or none: NoCapacity. Again for the same job: the leases it has."""
        with self._records.writing() as connection:
            if earlier := _leases(connection, job_id):
                return earlier
            pool = self._pool(requirements.gpu_type)
            free = _free(pool, _held(connection))
            if len(free) < count:
                raise NoCapacity(f"{count} workers of type {pool.offer.gpu_type} are needed, {len(free)} are free")
            leases = tuple(_lease(job_id, slot, pool.offer) for slot in free[:count])
            _insert(connection, leases)
        return leases

    def leases(self, job_id: str) -> Sequence[Lease]:
        """What the job holds, in the order of its workers."""
        with self._records.reading() as connection:
            return _leases(connection, job_id)

    def release(self, job_id: str) -> None:
        """Give everything back; silent when nothing is held, may be called twice."""
        with self._records.writing() as connection:
            connection.execute("DELETE FROM leases WHERE job_id = ?", (job_id,))

    def holders(self) -> Sequence[str]:
        """The ids of all jobs that hold a lease, oldest first."""
        with self._records.reading() as connection:
            found = connection.execute("SELECT DISTINCT job_id FROM leases ORDER BY job_id").fetchall()
        return tuple(row["job_id"] for row in found)

    def visible_devices(self, job_id: str, site: str) -> str:
        """CUDA_VISIBLE_DEVICES of a worker: site-n gets the device of the job's n-th lease; empty for the processor, for the
        server, and where nothing is held."""
        number = site.rpartition("-")[2]
        held = [lease for lease in self.leases(job_id) if lease.gpu_type != _CPU]
        mine = held[int(number) - 1 : int(number)] if number.isdecimal() and int(number) > 0 else []
        return mine[0].slot if mine else ""

    def _pool(self, gpu_type: str) -> _Pool:
        if gpu_type not in self._pools:
            raise NoCapacity(f"this machine has no {gpu_type}; it has {', '.join(self._pools)}")
        return self._pools[gpu_type]


def _pools(machine: Machine) -> list[_Pool]:
    by_type: dict[str, list[Device]] = {}
    for device in machine.devices:
        by_type.setdefault(device.gpu_type, []).append(device)
    return [_cpu_pool(machine), *(_device_pool(machine, devices) for devices in by_type.values())]


def _cpu_pool(machine: Machine) -> _Pool:
    slots = tuple(f"cpu-{number}" for number in range(1, machine.cpu_slots + 1))
    return _Pool(slots, _offer(machine, _CPU, "This machine's processor", gpu_memory=0, total=len(slots), sharing=len(slots)))


def _device_pool(machine: Machine, devices: list[Device]) -> _Pool:
    slots, first = tuple(device.id for device in devices), devices[0]
    memory = min(device.memory for device in devices)
    offer = _offer(machine, first.gpu_type, first.title, gpu_memory=memory, total=len(slots), sharing=len(machine.devices))
    return _Pool(slots, offer)


def _offer(machine: Machine, gpu_type: str, title: str, *, gpu_memory: int, total: int, sharing: int) -> Offer:
    """An offer whose processor and memory are a worker's part when ``sharing`` workers run at once."""
    parts = max(1, sharing)
    return Offer(
        gpu_type=gpu_type,
        title=title,
        gpus=1 if gpu_memory else 0,
        gpu_memory=gpu_memory,
        vcpu=max(1, machine.cores // parts),
        ram=machine.ram // parts,
        price_per_hour=Decimal(0),
        total=total,
        free=total,
        owner=OwnerKind.USER,
    )


def _lease(job_id: str, slot: str, offer: Offer) -> Lease:
    return Lease(job_id=job_id, slot=slot, gpu_type=offer.gpu_type, price_per_hour=offer.price_per_hour)


def _insert(connection: Connection, leases: Sequence[Lease]) -> None:
    query = "INSERT INTO leases (slot, job_id, place, gpu_type, price) VALUES (?, ?, ?, ?, ?)"
    for place, lease in enumerate(leases):
        connection.execute(query, (lease.slot, lease.job_id, place, lease.gpu_type, str(lease.price_per_hour)))


def _leases(connection: Connection, job_id: str) -> tuple[Lease, ...]:
    found = connection.execute("SELECT * FROM leases WHERE job_id = ? ORDER BY place", (job_id,)).fetchall()
    return tuple(_stored(row) for row in found)


def _stored(row: Row) -> Lease:
    return Lease(job_id=row["job_id"], slot=row["slot"], gpu_type=row["gpu_type"], price_per_hour=Decimal(row["price"]))


def _held(connection: Connection) -> set[str]:
    return {row["slot"] for row in connection.execute("SELECT slot FROM leases").fetchall()}


def _free(pool: _Pool, held: set[str]) -> list[str]:
    return [slot for slot in pool.slots if slot not in held]

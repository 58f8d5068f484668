"""Machines to rent, as a user sees them and as the platform counts them."""

from decimal import Decimal
from enum import StrEnum

from pydantic import Field

from chalicelib.contracts.base import Instant, Lenient, Strict


class OwnerKind(StrEnum):
    """Whose machine it is."""

    PLATFORM = "platform"
    PROVIDER = "provider"
    USER = "user"


class Offer(Lenient):
    """A GPU type with its price and how many workers of it are free. Sizes in bytes, prices per worker-hour."""

    gpu_type: str
    title: str
    gpus: int
    gpu_memory: int
    vcpu: int
    ram: int
    price_per_hour: Decimal
    total: int
    free: int
    owner: OwnerKind = OwnerKind.PLATFORM


class Offers(Lenient):
    """All offers at one moment."""

    at: Instant
    offers: tuple[Offer, ...]


class Lease(Lenient):
    """One worker slot held for a job, its price frozen at launch."""

    job_id: str
    slot: str
    gpu_type: str
    price_per_hour: Decimal


class Requirements(Strict):
    """What a user asks of the workers; grows with the filters of step 7."""

    gpu_type: str = Field(default="cpu", min_length=1, max_length=64, title="GPU type")

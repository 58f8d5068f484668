"""What every Fleet promises; each here has four slots of type ``cpu``."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from chalicelib.contracts.offers import Requirements
from chalicelib.domain.errors import NoCapacity
from chalicelib.ports import Fleet
from tests.adapters.record_builders import at_once
from tests.adapters.stores import FLEETS

CPU = Requirements(gpu_type="cpu")


@pytest.fixture(params=FLEETS)
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fleet]:
    with FLEETS[request.param](tmp_path) as fleet:
        yield fleet


def free(fleet: Fleet) -> int:
    return next(offer.free for offer in fleet.offers() if offer.gpu_type == "cpu")


def test_everything_is_free_at_first(fleet: Fleet) -> None:
    assert [(o.gpu_type, o.total, o.free) for o in fleet.offers()] == [("cpu", 4, 4)]


def test_a_reservation_lowers_the_free_count(fleet: Fleet) -> None:
    fleet.reserve("job-1", CPU, 3)
    assert free(fleet) == 1


def test_a_reservation_gives_a_slot_of_its_own_to_every_worker(fleet: Fleet) -> None:
    assert len({lease.slot for lease in fleet.reserve("job-1", CPU, 3)}) == 3


def test_leases_carry_the_job_the_type_and_the_price(fleet: Fleet) -> None:
    lease = fleet.reserve("job-1", CPU, 1)[0]
    assert (lease.job_id, lease.gpu_type, lease.price_per_hour) == ("job-1", "cpu", Decimal(0))


def test_the_leases_of_a_job_are_remembered(fleet: Fleet) -> None:
    assert fleet.reserve("job-1", CPU, 3) == fleet.leases("job-1")


def test_a_job_that_holds_nothing_has_no_leases(fleet: Fleet) -> None:
    assert list(fleet.leases("job-1")) == []


def test_a_reservation_is_all_or_nothing(fleet: Fleet) -> None:
    fleet.reserve("job-1", CPU, 3)
    with pytest.raises(NoCapacity):
        fleet.reserve("job-2", CPU, 2)
    assert (free(fleet), list(fleet.leases("job-2"))) == (1, [])


def test_a_refused_reservation_says_how_many_are_free(fleet: Fleet) -> None:
    fleet.reserve("job-1", CPU, 3)
    with pytest.raises(NoCapacity, match="1 are free"):
        fleet.reserve("job-2", CPU, 2)


def test_a_type_nobody_has_cannot_be_reserved(fleet: Fleet) -> None:
    with pytest.raises(NoCapacity, match="abacus"):
        fleet.reserve("job-1", Requirements(gpu_type="abacus"), 1)


def test_the_same_job_again_gets_the_leases_it_has(fleet: Fleet) -> None:
    first = fleet.reserve("job-1", CPU, 3)
    assert (fleet.reserve("job-1", CPU, 3), free(fleet)) == (first, 1)


def test_a_release_gives_everything_back(fleet: Fleet) -> None:
    fleet.reserve("job-1", CPU, 3)
    fleet.release("job-1")
    assert (free(fleet), list(fleet.leases("job-1"))) == (4, [])


def test_a_second_release_takes_nothing_from_others(fleet: Fleet) -> None:
    fleet.reserve("job-1", CPU, 2)
    fleet.release("job-1")
    fleet.reserve("job-2", CPU, 3)
    fleet.release("job-1")
    assert free(fleet) == 1


def test_holders_are_the_jobs_with_leases(fleet: Fleet) -> None:
    fleet.reserve("job-1", CPU, 2)
    fleet.reserve("job-2", CPU, 1)
    fleet.release("job-1")
    assert list(fleet.holders()) == ["job-2"]


def test_of_two_that_race_for_the_last_slots_exactly_one_wins(fleet: Fleet) -> None:
    fleet.reserve("job-0", CPU, 1)
    ends = at_once(2, lambda n: fleet.reserve(f"job-{n + 1}", CPU, 2))
    assert sorted(type(end).__name__ for end in ends) == ["NoCapacity", "tuple"]


def test_sixteen_racing_jobs_never_share_a_slot(fleet: Fleet) -> None:
    at_once(16, lambda n: fleet.reserve(f"job-{n}", CPU, 1))
    slots = [lease.slot for job_id in fleet.holders() for lease in fleet.leases(job_id)]
    assert (len(slots), len(set(slots))) == (4, 4)


def test_sixteen_repeats_of_one_reservation_hold_it_once(fleet: Fleet) -> None:
    at_once(16, lambda _: fleet.reserve("job-1", CPU, 2))
    assert free(fleet) == 2

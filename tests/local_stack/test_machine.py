"""What a machine lends, and which device a worker gets."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from chalicelib.contracts.offers import Requirements
from chalicelib.domain.errors import NoCapacity
from local_stack.fleet import LaptopFleet
from local_stack.machine import Device, Machine, parsed_devices, this_machine
from local_stack.records import Records

GB = 10**9
TWO_CARDS = (Device("GPU-a", "NVIDIA RTX 4090", 24 * 2**30), Device("GPU-b", "NVIDIA RTX 4090", 24 * 2**30))
RTX = Requirements(gpu_type="nvidia-rtx-4090")


@pytest.fixture
def workstation(tmp_path: Path) -> Iterator[LaptopFleet]:
    records = Records(tmp_path / "records.sqlite3")
    yield LaptopFleet(records, Machine(cores=16, ram=64 * GB, devices=TWO_CARDS))
    records.close()


@pytest.mark.parametrize(("cores", "ram", "slots"), [(2, 16 * GB, 4), (8, 16 * GB, 8), (8, 3 * GB, 3), (64, 5 * GB + 1, 5)])
def test_slots_are_four_or_the_cores_but_one_a_gigabyte_at_most(cores: int, ram: int, slots: int) -> None:
    assert Machine(cores=cores, ram=ram).cpu_slots == slots


def test_this_machine_is_the_one_the_test_runs_on() -> None:
    machine = this_machine()
    assert (machine.cores >= 1, machine.ram) == (True, psutil.virtual_memory().total)


def test_devices_are_read_from_the_tools_listing() -> None:
    listing = "GPU-a, NVIDIA RTX 4090, 24564\nGPU-b, Tesla T4, 15360\n"
    assert parsed_devices(listing) == (
        Device("GPU-a", "NVIDIA RTX 4090", 24564 * 2**20),
        Device("GPU-b", "Tesla T4", 15360 * 2**20),
    )


def test_equal_devices_share_an_offer(workstation: LaptopFleet) -> None:
    assert [(o.gpu_type, o.gpus, o.total) for o in workstation.offers()] == [("cpu", 0, 16), ("nvidia-rtx-4090", 1, 2)]


def test_an_offer_shows_a_workers_part_of_the_machine(workstation: LaptopFleet) -> None:
    offer = workstation.offers()[1]
    assert (offer.vcpu, offer.ram, offer.gpu_memory) == (8, 32 * GB, 24 * 2**30)


def test_each_worker_sees_the_device_it_leased(workstation: LaptopFleet) -> None:
    workstation.reserve("job-1", RTX, 2)
    assert [workstation.visible_devices("job-1", site) for site in ("site-1", "site-2")] == ["GPU-a", "GPU-b"]


def test_the_server_and_a_surplus_site_see_no_device(workstation: LaptopFleet) -> None:
    workstation.reserve("job-1", RTX, 2)
    assert {workstation.visible_devices("job-1", site) for site in ("server", "site-3", "site-0")} == {""}


def test_a_worker_on_the_processor_sees_no_device(workstation: LaptopFleet) -> None:
    workstation.reserve("job-1", Requirements(gpu_type="cpu"), 2)
    assert workstation.visible_devices("job-1", "site-1") == ""


def test_devices_run_out_while_the_processor_is_free(workstation: LaptopFleet) -> None:
    workstation.reserve("job-1", RTX, 2)
    with pytest.raises(NoCapacity, match="0 are free"):
        workstation.reserve("job-2", RTX, 1)

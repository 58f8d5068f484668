"""What a job costs an hour: the sums that the console's tests read too."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from chalicelib.domain.money import total_per_hour

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "price.json").read_text())["vectors"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['workers']} x {vector['price']}")
def test_a_total_is_the_exact_sum_over_the_machines(vector: dict[str, Any]) -> None:
    machines = [Decimal(vector["price"])] * vector["workers"]
    assert total_per_hour(machines) == Decimal(vector["total_per_hour"])


def test_a_sum_of_more_digits_than_decimals_usually_keep_is_not_rounded() -> None:
    assert total_per_hour([Decimal("1e20"), Decimal("1e-20")]) == Decimal("100000000000000000000.00000000000000000001")

"""Money as exact decimals; only what is shown is rounded, once."""

from collections.abc import Iterable
from decimal import Decimal, localcontext

_DIGITS = 60
"""More than a thousand machines of any price need, so no sum is rounded."""


def total_per_hour(prices: Iterable[Decimal]) -> Decimal:
    """What machines of these prices cost in an hour together: the exact sum."""
    with localcontext(prec=_DIGITS):
        return sum(prices, Decimal(0))

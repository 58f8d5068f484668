"""The numbers that travel beside an update."""

import math
from collections.abc import Mapping
from typing import Any

from nvflare.apis.dxo import MetaKey


def metrics_of(meta: Mapping[str, Any] | None) -> dict[str, float | None]:
    """The metrics an answer carries, our executor's or any other's; None for one that is not finite."""
    told = (meta or {}).get("tutti_metrics")
    if told is None:
        told = (meta or {}).get(MetaKey.INITIAL_METRICS)
    named = told if isinstance(told, Mapping) else {"metric": told}
    return {str(name): _finite(value) for name, value in named.items() if value is None or _is_number(value)} if told else {}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None

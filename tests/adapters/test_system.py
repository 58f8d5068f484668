"""Time and chance of the system."""

import re
import time
from datetime import UTC, timedelta
from datetime import datetime as moment

from chalicelib.adapters.system import SystemClock, SystemIds
from tests.adapters.record_builders import at_once


def test_now_is_in_utc_and_aware() -> None:
    assert SystemClock().now().utcoffset() == timedelta(0)


def test_a_pause_lasts() -> None:
    start = time.monotonic()
    SystemClock().pause(0.05)
    assert time.monotonic() - start >= 0.05


def test_a_negative_pause_is_none() -> None:
    SystemClock().pause(-1)


def test_a_job_id_is_a_lower_case_ulid_with_a_prefix() -> None:
    assert re.fullmatch(r"job-[0-7][0-9a-hjkmnp-tv-z]{25}", SystemIds().job_id())


def test_a_job_id_begins_with_its_time() -> None:
    before = moment.now(UTC)
    digits = SystemIds().job_id().removeprefix("job-")[:10]
    milliseconds = sum("0123456789abcdefghjkmnpqrstvwxyz".index(d) * 32**n for n, d in enumerate(reversed(digits)))
    assert abs(moment.fromtimestamp(milliseconds / 1000, UTC) - before) < timedelta(seconds=10)


def test_later_job_ids_sort_after_earlier_ones() -> None:
    ids = SystemIds()
    made = [ids.job_id() for _ in range(5000)]
    assert made == sorted(set(made))


def test_job_ids_rise_when_the_clock_is_set_back() -> None:
    moments = iter([1_000, 1_000, 400, 1_001])
    ids = SystemIds(milliseconds=lambda: next(moments))
    made = [ids.job_id() for _ in range(4)]
    assert made == sorted(set(made))


def test_threads_never_get_the_same_job_id() -> None:
    ids = SystemIds()
    made = at_once(16, lambda _: [ids.job_id() for _ in range(200)])
    assert len({i for some in made if isinstance(some, list) for i in some}) == 3200


def test_job_ids_of_two_processes_differ() -> None:
    assert SystemIds().job_id()[-16:] != SystemIds().job_id()[-16:]


def test_secrets_are_long_url_safe_and_never_the_same() -> None:
    made = {SystemIds().secret() for _ in range(100)}
    assert len(made) == 100
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43,}", secret) for secret in made)


def test_jitter_is_at_least_zero_and_below_one() -> None:
    assert all(0 <= SystemIds().jitter() < 1 for _ in range(1000))

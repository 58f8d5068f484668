"""What an installation chooses by its environment."""

import pytest
from pydantic import ValidationError

from chalicelib.settings import Settings


def test_the_environment_chooses() -> None:
    chosen = Settings.from_env(
        {"TUTTI_STUCK_AFTER_S": "30", "TUTTI_WORKER_MEMORY": "1000000000", "TUTTI_PLATFORM_BUCKET": "bucket"}
    )
    assert (chosen.stuck_after_s, chosen.worker_memory, chosen.platform_bucket) == (30.0, 10**9, "bucket")


def test_what_an_installation_fixes_is_not_chosen() -> None:
    assert Settings.from_env({"TUTTI_PLATFORM_BUCKET": "another"}, platform_bucket="bucket").platform_bucket == "bucket"


def test_a_setting_that_is_none_is_named() -> None:
    with pytest.raises(ValidationError, match="stuck_after_s"):
        Settings.from_env({"TUTTI_STUCK_AFTER_S": "soon"}, platform_bucket="bucket")

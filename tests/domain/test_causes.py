"""Causes become reasons a user can act on."""

import pytest

from chalicelib.contracts.job import JobState, ReasonCode
from chalicelib.domain.causes import MEANINGS, reason_for, state_for
from tests.builders import cause


@pytest.mark.parametrize("code", list(ReasonCode))
def test_every_reason_code_has_an_ended_state_and_advice(code: ReasonCode) -> None:
    assert MEANINGS[code].state.ended
    assert MEANINGS[code].advice.endswith(".")


def test_a_reason_keeps_the_place_of_its_cause() -> None:
    reason = reason_for(cause(site="site-2", file="scripts/model_def.py", line=7, round=3))
    assert (reason.site, reason.file, reason.line, reason.round) == ("site-2", "scripts/model_def.py", 7, 3)


def test_evidence_is_cut_to_its_last_forty_lines() -> None:
    reason = reason_for(cause(evidence=tuple(str(n) for n in range(100))))
    assert reason.evidence == tuple(str(n) for n in range(60, 100))


@pytest.mark.parametrize(
    ("code", "state"),
    [
        (ReasonCode.COMPLETED, JobState.FINISHED),
        (ReasonCode.CANCELLED_BY_USER, JobState.CANCELLED),
        (ReasonCode.TRAINING_RAISED, JobState.FAILED),
    ],
)
def test_a_reason_code_decides_the_state(code: ReasonCode, state: JobState) -> None:
    assert state_for(reason_for(cause(code))) is state

"""What went wrong in public, through the real guard, store, average and book."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chalicelib.contracts.worker import RoundDoneEvent
from tests.worker.federation.builders import Arrays, Server, update
from tests.worker.federation.whole_round import Job, unpacked

CASES = Path(__file__).resolve().parents[2] / "vectors" / "cases"
UPDATES = sorted(path.parent.name for path in CASES.glob("fl-*/round.json"))
ACCEPTED = [case for case in UPDATES if case not in ("fl-all-samples-zero", "fl-shape-differs")]


def arrays(path: Path) -> Arrays:
    with np.load(path) as found:
        return dict(found)


class Case:
    """One round of a case, played; a site that is refused is one too few when ``minimum`` says so."""

    def __init__(self, folder: Path, name: str, minimum: int = 1) -> None:
        place = CASES / name
        clients = json.loads((place / "round.json").read_text())["clients"]
        self.model, self.expect = arrays(place / "global.npz"), json.loads((place / "expectation.json").read_text())["expect"]
        self.server = Server(folder, self.model, minimum=minimum, sites=len(clients))
        answers = [update(one["name"], arrays(place / one["file"]), one["samples"]) for one in clients]
        self.mean = self.server.play(*answers)
        wanted = place / "expected_global.npz"
        self.wanted = arrays(wanted) if wanted.exists() else {}

    @property
    def done(self) -> RoundDoneEvent:
        [event] = self.server.events("round_done")
        assert isinstance(event, RoundDoneEvent)
        return event

    def refusal(self, site: str) -> str:
        cause = self.done.sites[site].refused
        return cause.sentence if cause else ""

    def failure(self) -> dict[str, Any]:
        [event] = [data for kind, data in self.server.engine.fired if "fatal" in kind]
        cause: dict[str, Any] = json.loads(event.splitlines()[-1])
        return cause


def test_no_case_with_updates_is_left_out() -> None:
    assert {"fl-int-buffer", "fl-nan-client", "fl-one-samples-zero", "fl-prefix-differs", "fl-tied-weights"} == set(ACCEPTED)


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_next_global_model_is_the_expected_one(tmp_path: Path, name: str) -> None:
    case = Case(tmp_path, name)
    within = case.expect.get("tolerance", 1e-6)
    far = {key: value for key, value in case.wanted.items() if not np.allclose(case.mean[key], value, rtol=0, atol=within)}
    assert far == {}


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_next_global_model_has_the_forms_of_the_last(tmp_path: Path, name: str) -> None:
    case = Case(tmp_path, name)
    forms = {key: (value.dtype, value.shape) for key, value in case.mean.items()}
    assert forms == {key: (value.dtype, value.shape) for key, value in case.model.items()}


def test_a_batch_counter_stays_between_what_the_sites_counted(tmp_path: Path) -> None:
    assert 3 <= int(Case(tmp_path, "fl-int-buffer").mean["bn.num_batches_tracked"]) <= 7


def test_tied_weights_are_equal_bit_for_bit(tmp_path: Path) -> None:
    mean = Case(tmp_path, "fl-tied-weights").mean
    assert mean["emb.weight"].tobytes() == mean["head.weight"].tobytes()


def test_a_nan_is_refused_by_site_and_tensor_and_the_model_stays_finite(tmp_path: Path) -> None:
    case = Case(tmp_path, "fl-nan-client")
    assert "fc.weight has 2 of 12 values that are not finite" in case.refusal("site-2")
    assert np.isfinite(case.mean["fc.weight"]).all()


def test_a_nan_ends_the_job_when_nobody_may_be_missing(tmp_path: Path) -> None:
    cause = Case(tmp_path, "fl-nan-client", minimum=3).failure()
    assert (cause["code"], cause["site"], "fc.weight" in cause["sentence"]) == ("update_refused", "site-2", True)


def test_a_site_with_no_samples_is_shown_with_0(tmp_path: Path) -> None:
    shown = Case(tmp_path, "fl-one-samples-zero").done.sites["site-1"]
    assert (shown.accepted, shown.samples) == (True, 0)


def test_a_prefix_brings_no_new_name_into_the_model(tmp_path: Path) -> None:
    assert sorted(Case(tmp_path, "fl-prefix-differs").mean) == ["fc.bias", "fc.weight"]


def test_another_shape_is_refused_with_site_tensor_both_shapes_and_what_to_do(tmp_path: Path) -> None:
    said = Case(tmp_path, "fl-shape-differs").refusal("site-2")
    assert [word for word in ("site-2", "head.weight", "(10, 4)", "(11, 4)", "num_classes") if word not in said] == []


def test_zero_samples_everywhere_end_the_job_with_that_reason(tmp_path: Path) -> None:
    case = Case(tmp_path, "fl-all-samples-zero")
    assert (case.failure()["code"], "zero samples" in case.failure()["sentence"], case.mean) == ("no_samples", True, {})


def model_def(name: str) -> str:
    return (CASES / name / "model_def.py").read_text()


def test_bfloat16_weights_are_averaged_and_saved_in_the_models_own_float32(tmp_path: Path) -> None:
    job = Job(tmp_path, model_def("fl-bf16-weights"))
    accepted = [[result.accepted for result in job.play(round).sites.values()] for round in range(2)]
    assert accepted == [[True, True], [True, True]]
    assert {str(value.dtype) for value in job.saved().values()} == {"torch.float32"}


def test_entries_that_are_no_tensors_stay_and_the_saved_model_loads_strictly(tmp_path: Path) -> None:
    job = Job(tmp_path, model_def("fl-non-tensor-entries"))
    for round in range(2):
        job.play(round)
    assert job.saved()["_extra_state"] == {"format": "v1", "scale": None, "names": ["a", "b"]}
    assert job.loads() == "<All keys matched successfully>"


def test_a_last_batch_of_one_is_told_with_the_sites_name_and_a_hint(tmp_path: Path) -> None:
    job = Job(tmp_path, model_def("fl-last-batch-of-one"), sites=1)
    unpacked(CASES / "fl-last-batch-of-one" / "shard_0.zip", job)
    error = job.answer("site-1", job.sites["site-1"]).get_header("tutti_error")
    assert (error["site"], "Expected more than 1 value per channel" in error["sentence"]) == ("site-1", True)
    assert "drop_last=True" in error["sentence"]


HASHING = """
import hashlib
import torch
class FLModelWrapper(torch.nn.Linear):
    def __init__(self, **kwargs):
        super().__init__(7, 3)
def fl_train_model(payload, out_dir, logger=None):
    weights = payload["initial_weights"]
    digest = hashlib.sha256(b"".join(value.numpy().tobytes() for value in weights.values())).hexdigest()
    FLModelWrapper()  # draws random numbers, as a site's own model would
    return {"weights": weights, "samples": 1, "start": int(digest[:12], 16)}
"""


def test_every_site_starts_round_0_from_the_same_weights(tmp_path: Path) -> None:
    sites = Job(tmp_path, HASHING, sites=3).play().sites.values()
    assert (len(sites), len({result.metrics["start"] for result in sites})) == (3, 1)

"""Models of every kind of weight, from the server's first model to the file a user downloads."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.worker.federation.whole_round import Job

HEAD = """
import torch
from torch import nn
class FLModelWrapper(nn.Module):
    def __init__(self, **kwargs):
        super().__init__()
        {body}
def fl_train_model(payload, out_dir, logger=None):
    model = FLModelWrapper()
    model.load_state_dict(payload["initial_weights"], strict=True)
    {step}
    return {{"weights": {returned}, "samples": 4}}
"""


def model_def(body: str, step: str = "pass", returned: str = "model.state_dict()") -> str:
    return HEAD.format(body=body, step=step, returned=returned)


def after_two_rounds(folder: Path, text: str, **persistor: Any) -> Job:
    job = Job(folder, text, **persistor)
    for round in range(2):
        done = job.play(round)
        assert [result.refused for result in done.sites.values()] == [None, None]
    return job


@pytest.mark.parametrize("exchange", ["numpy", "tensors"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex64", "int32", "uint8", "bool"])
def test_a_tensor_ends_in_its_own_dtype(tmp_path: Path, dtype: str, exchange: str) -> None:
    body = f"self.register_buffer('b', torch.ones(3, dtype=torch.{dtype}))"
    saved = after_two_rounds(tmp_path, model_def(body), exchange=exchange).saved()["b"]
    assert torch.equal(saved, torch.ones(3, dtype=getattr(torch, dtype)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_model_in_half_precision_is_trained_and_saved_in_it(tmp_path: Path, dtype: str) -> None:
    body = f"self.fc = nn.Linear(3, 2).to(torch.{dtype})"
    job = after_two_rounds(tmp_path, model_def(body, "model.fc.weight.data += 0.25"))
    assert ({str(value.dtype) for value in job.saved().values()}, job.loads()) == (
        {f"torch.{dtype}"},
        "<All keys matched successfully>",
    )


@pytest.mark.parametrize("exchange", ["numpy", "tensors"])
@pytest.mark.parametrize(("value", "shape"), [("torch.tensor(2.5)", ()), ("torch.zeros(0, 3)", (0, 3)), ("torch.zeros(())", ())])
def test_a_tensor_of_no_dimension_or_no_element_keeps_its_shape(tmp_path: Path, value: str, shape: object, exchange: str) -> None:
    saved = after_two_rounds(tmp_path, model_def(f"self.register_buffer('b', {value})"), exchange=exchange).saved()["b"]
    assert tuple(saved.shape) == shape


@pytest.mark.parametrize("exchange", ["numpy", "tensors"])
def test_a_tensor_that_is_not_contiguous_keeps_its_order(tmp_path: Path, exchange: str) -> None:
    body = "self.register_buffer('b', torch.arange(6.0).reshape(2, 3).T)"
    saved = after_two_rounds(tmp_path, model_def(body), exchange=exchange).saved()["b"]
    assert saved.tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize("returned", ["b.numpy()[::-1]", "b.flip(0)", "b.numpy().astype('>f4')[::-1]", "b.tolist and b.flip(0)"])
def test_an_array_of_any_memory_layout_is_taken_by_its_values(tmp_path: Path, returned: str) -> None:
    step = "b = model.b"
    text = model_def("self.register_buffer('b', torch.arange(3.0))", step, f"{{'b': {returned}}}")
    job = Job(tmp_path, text)
    job.play()
    assert job.saved()["b"].tolist() == [2, 1, 0]


def test_a_batch_norms_counter_is_a_whole_number_in_the_saved_model(tmp_path: Path) -> None:
    job = after_two_rounds(tmp_path, model_def("self.bn = nn.BatchNorm1d(2)", "model.bn(torch.randn(4, 2))"))
    counter = job.saved()["bn.num_batches_tracked"]
    assert (counter.dtype, counter.shape, counter.item()) == (torch.int64, (), 2)


TIED = "self.emb = nn.Embedding(50, 20); self.head = nn.Linear(20, 50, bias=False); self.head.weight = self.emb.weight"


def test_tied_weights_stay_one_memory_in_the_saved_model(tmp_path: Path) -> None:
    job = after_two_rounds(tmp_path, model_def(TIED, "model.emb.weight.data += 1"))
    saved = job.saved()
    assert (saved["emb.weight"].data_ptr() == saved["head.weight"].data_ptr(), job.loads()) == (
        True,
        "<All keys matched successfully>",
    )


def test_a_mask_of_infinities_is_no_fault(tmp_path: Path) -> None:
    body = "self.register_buffer('mask', torch.triu(torch.full((3, 3), -torch.inf), 1)); self.fc = nn.Linear(2, 2)"
    assert torch.isinf(after_two_rounds(tmp_path, model_def(body)).saved()["mask"]).sum() == 3


def test_an_infinity_where_the_model_has_none_is_refused(tmp_path: Path) -> None:
    body = "self.register_buffer('mask', torch.tensor([0.0, -torch.inf]))"
    refused = Job(tmp_path, model_def(body, "model.mask[0] = -torch.inf")).refusal()
    assert "mask has 1 of 2 values that are not finite" in refused.sentence


def test_a_value_that_the_saved_half_cannot_hold_is_refused_by_name(tmp_path: Path) -> None:
    text = model_def("self.register_buffer('b', torch.ones(2, dtype=torch.float16))", returned="{'b': torch.tensor([1.0, 1e6])}")
    said = "site-1: b has 1 of 2 values that are too large for the model's float16"
    assert Job(tmp_path, text).refusal().sentence == said


def test_extra_state_in_bytes_is_kept_and_never_averaged(tmp_path: Path) -> None:
    text = model_def("self.fc = nn.Linear(2, 2)").replace(
        "def fl_train_model",
        "    def get_extra_state(self):\n        return torch.tensor([1, 2, 3], dtype=torch.uint8)\n"
        "    def set_extra_state(self, state):\n        assert state.dtype == torch.uint8\ndef fl_train_model",
    )
    assert after_two_rounds(tmp_path, text).saved()["_extra_state"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(("body", "said"), [
    ("self.register_buffer('b', torch.eye(3).to_sparse())", "the model's b is a sparse_coo float32 tensor on cpu"),
    ("self.register_buffer('b', torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8))", "the model's b is a strided q"),
    ("self.register_buffer('b', torch.ones(2, device='meta'))", "the model's b is a strided float32 tensor on meta"),
    ("self.fc = nn.LazyLinear(3)", "the model's fc.weight has no shape yet"),
    ("self.register_buffer('b', torch.tensor([1.0, torch.nan]))", "the model's b holds NaN before any training"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_a_model_that_cannot_be_averaged_is_refused_by_its_tensor(tmp_path: Path, body: str, said: str) -> None:
    assert said in Job(tmp_path, model_def(body)).panic()


def test_extra_state_that_cannot_travel_is_refused_by_its_name(tmp_path: Path) -> None:
    text = model_def("pass").replace(
        "def fl_train_model", "    def get_extra_state(self):\n        return self\ndef fl_train_model"
    )
    assert "the model's _extra_state is a FLModelWrapper that cannot travel" in Job(tmp_path, text).panic()


@pytest.mark.parametrize(("returned", "said"), [
    ("{'b': torch.eye(3).to_sparse()}", "weights['b'] is a sparse_coo float32 tensor on cpu"),
    ("{'b': torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)}", "weights['b'] is a strided qint8 tensor"),
    ("{'b': torch.ones(3, device='meta')}", "weights['b'] is a strided float32 tensor on meta"),
    ("{'b': __import__('numpy').array([None])}", "weights['b'] is a ndarray of object"),
    ("{'b': __import__('numpy').ones(3, 'longdouble')}", "weights['b'] is a ndarray of float128"),
    ("{1: torch.ones(3)}", "weights with the name 1; a name is a text"),
])  # fmt: skip
def test_an_update_that_cannot_be_averaged_is_refused_by_its_tensor(tmp_path: Path, returned: str, said: str) -> None:
    job = Job(tmp_path, model_def("self.register_buffer('b', torch.ones(3))", returned=returned))
    refused = job.refusal()
    assert (refused.code, said in refused.sentence) == ("wrong_return", True)

"""The average: weighted by samples, the same bits in any order, each tensor in its own dtype."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from nvflare.apis.dxo import DataKind, from_shareable
from tutti_worker.federation.averaging import OrderedAverage
from tutti_worker.federation.mean import ordered_mean
from tutti_worker.federation.store import by_site

from tests.worker.federation.builders import OnDisk, Server, arrays, update


def test_the_mean_is_weighted_by_samples(tmp_path: Path) -> None:
    model = arrays(w=[0, 0])
    data = Server(tmp_path, model).play(update("site-1", arrays(w=[1, 2]), 30), update("site-2", arrays(w=[5, 6]), 90))
    assert data["w"].tolist() == [4.0, 5.0]


def test_the_result_has_the_dtype_of_the_global_model(tmp_path: Path) -> None:
    data = Server(tmp_path, arrays(w=[0])).play(update("site-1", {"w": np.array([1.0], np.float64)}))
    assert data["w"].dtype == np.float32


def test_a_site_without_samples_counts_for_nothing(tmp_path: Path) -> None:
    answers = update("site-1", arrays(w=[1e9]), 0), update("site-2", arrays(w=[1]), 100), update("site-3", arrays(w=[5]), 300)
    assert Server(tmp_path, arrays(w=[0])).play(*answers)["w"].tolist() == [4.0]


def test_a_counter_becomes_the_largest_and_stays_whole(tmp_path: Path) -> None:
    state = {"bn.weight": np.ones(2, np.float32), "bn.num_batches_tracked": np.array(0)}
    first, second = state | {"bn.num_batches_tracked": np.array(3)}, state | {"bn.num_batches_tracked": np.array(7)}
    counter = Server(tmp_path, state).play(update("site-1", first, 30), update("site-2", second, 90))["bn.num_batches_tracked"]
    assert (counter.dtype, counter.shape, counter.item()) == (np.int64, (), 7)


def test_tied_weights_stay_equal_bit_for_bit(tmp_path: Path) -> None:
    tied = [np.random.default_rng(n).normal(size=(5, 2)).astype(np.float32) for n in range(2)]
    model = {"emb.weight": tied[0], "head.weight": tied[0]}
    answers = [update(f"site-{n + 1}", {"emb.weight": w, "head.weight": w}, n + 1) for n, w in enumerate(tied)]
    data = Server(tmp_path, model).play(*answers)
    assert data["emb.weight"].tobytes() == data["head.weight"].tobytes()


def test_any_order_of_arrival_gives_the_same_bits(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    parts = [(f"site-{n}", arrays(w=generator.normal(size=40) * 10.0**n), n + 1) for n in range(4)]
    results = {
        Server(tmp_path / str(index), arrays(w=[0] * 40)).play(*(update(*part) for part in order))["w"].tobytes()
        for index, order in enumerate(itertools.permutations(parts))
    }
    assert len(results) == 1


def test_tensors_come_out_when_tensors_went_in(tmp_path: Path) -> None:
    data = Server(tmp_path, {"w": torch.zeros(2)}).play(update("site-1", {"w": torch.ones(2)}))
    assert torch.equal(data["w"], torch.ones(2))


def test_tensors_left_on_the_disk_are_averaged(tmp_path: Path) -> None:
    answers = [update(f"site-{n}", {"w": OnDisk(torch.full((2,), float(n)))}) for n in (1, 3)]
    assert torch.equal(Server(tmp_path, {"w": torch.zeros(2)}).play(*answers)["w"], torch.full((2,), 2.0))


def test_complex_numbers_are_averaged_through_the_store(tmp_path: Path) -> None:
    answers = [update(f"site-{n}", {"w": np.array([n, 1j * n], np.complex128)}) for n in (1, 3)]
    mean = Server(tmp_path, {"w": np.zeros(2, np.complex128)}).play(*answers)["w"]
    assert (mean.dtype, mean.tolist()) == (np.complex128, [2, 2j])


@pytest.mark.parametrize("factor", [-1.0, float("nan"), float("inf"), True, "2"])
def test_a_sites_factor_that_is_no_weight_is_refused_when_configured(factor: Any) -> None:
    with pytest.raises(ValueError, match="site-1"):
        OrderedAverage(aggregation_weights={"site-1": factor})


def test_differences_are_averaged_as_such(tmp_path: Path) -> None:
    server = Server(tmp_path, arrays(w=[10]), expected_data_kind=DataKind.WEIGHT_DIFF)
    answers = (update(f"site-{n}", arrays(w=[n]), kind=DataKind.WEIGHT_DIFF) for n in (1, 3))
    assert server.play(*answers)["w"].tolist() == [2.0]


def test_an_update_of_the_other_kind_is_not_averaged(tmp_path: Path) -> None:
    server = Server(tmp_path, arrays(w=[0]))
    server.start()
    assert not server.arrive(update("site-1", arrays(w=[1]), kind=DataKind.WEIGHT_DIFF))


def test_a_second_update_of_a_site_is_not_averaged(tmp_path: Path) -> None:
    server = Server(tmp_path, arrays(w=[0]))
    server.start()
    server.arrive(update("site-1", arrays(w=[1])))
    assert not server.average.accept(update("site-1", arrays(w=[9])), server.fl_ctx)


def test_an_update_of_an_earlier_round_is_not_averaged(tmp_path: Path) -> None:
    server = Server(tmp_path, arrays(w=[0]))
    server.start(round=3)
    assert not server.average.accept(update("site-1", arrays(w=[1]), round=2), server.fl_ctx)


def test_no_counting_update_leaves_the_result_empty(tmp_path: Path) -> None:
    assert Server(tmp_path, arrays(w=[0])).play(update("site-1", arrays(w=[1]), 0)) == {}


def test_an_excluded_tensor_stays_the_global_models(tmp_path: Path) -> None:
    server = Server(tmp_path, arrays(w=[0], head=[7]), exclude_vars="^head")
    assert server.play(update("site-1", arrays(w=[1], head=[2])))["head"].tolist() == [7.0]


def test_an_excluded_tensors_difference_is_left_out(tmp_path: Path) -> None:
    server = Server(tmp_path, arrays(w=[0], head=[7]), exclude_vars="^head", expected_data_kind=DataKind.WEIGHT_DIFF)
    data = server.play(update("site-1", arrays(w=[1], head=[2]), kind=DataKind.WEIGHT_DIFF))
    assert list(data) == ["w"]


def test_an_excluded_tensor_that_the_global_model_lacks_is_left_out(tmp_path: Path) -> None:
    server = Server(tmp_path, {}, exclude_vars="^head")
    assert list(server.play(update("site-1", arrays(w=[1], head=[2])))) == ["w"]


def test_an_update_after_the_average_is_refused_until_the_next_round(tmp_path: Path) -> None:
    server = Server(tmp_path, arrays(w=[0]))
    server.start()
    server.average.accept(update("site-1", arrays(w=[1])), server.fl_ctx)
    server.average.aggregate(server.fl_ctx)
    late = server.average.accept(update("site-2", arrays(w=[9])), server.fl_ctx)
    server.average.reset(server.fl_ctx)
    assert (late, server.average.accept(update("site-2", arrays(w=[9])), server.fl_ctx)) == (False, True)


def test_an_update_that_cannot_be_written_is_refused_and_not_raised(tmp_path: Path) -> None:
    server = Server(tmp_path, {})
    server.start()
    in_the_way = Path(server.engine.get_run_dir("run-1"), "updates")
    in_the_way.parent.mkdir(parents=True)
    in_the_way.touch()
    assert not server.average.accept(update("site-1", arrays(w=[1])), server.fl_ctx)


def test_a_sites_own_factor_multiplies_its_samples(tmp_path: Path) -> None:
    server = Server(tmp_path, arrays(w=[0]), aggregation_weights={"site-1": 3.0})
    assert server.play(update("site-1", arrays(w=[4])), update("site-2", arrays(w=[0])))["w"].tolist() == [3.0]


def test_what_travels_beside_the_model_travels_on(tmp_path: Path) -> None:
    server = Server(tmp_path, arrays(w=[0]))
    server.hold(arrays(w=[0]), {"tutti_dtypes": {"w": "bfloat16"}, "other": 1})
    server.start()
    server.arrive(update("site-1", arrays(w=[1])))
    assert from_shareable(server.average.aggregate(server.fl_ctx)).meta == {"tutti_dtypes": {"w": "bfloat16"}}


def test_the_disk_holds_the_updates_of_one_round(tmp_path: Path) -> None:
    server = Server(tmp_path, arrays(w=[0]))
    for number in range(2):
        server.play(update("site-1", arrays(w=[1]), round=number), round=number)
    files = [path.relative_to(server.engine.folder / "run-1/updates") for path in server.engine.folder.rglob("*.safetensors")]
    assert [str(path) for path in files] == ["round_1/site-1.safetensors"]


def test_a_collection_of_kinds_is_refused_when_configured() -> None:
    with pytest.raises(ValueError, match="WEIGHTS or WEIGHT_DIFF"):
        OrderedAverage(expected_data_kind=DataKind.METRICS)


def test_sites_are_counted_as_people_count() -> None:
    assert list(by_site({"site-10": 1, "site-9": 1, "site-1": 1})) == ["site-1", "site-9", "site-10"]


@given(st.lists(st.tuples(st.floats(-1e6, 1e6, width=32), st.integers(1, 10_000)), min_size=1, max_size=8))
def test_the_mean_lies_between_its_parts(parts: list[tuple[float, int]]) -> None:
    values = [value for value, _ in parts]
    mean = ordered_mean([torch.tensor(v) for v in values], [w for _, w in parts], torch.float32).item()
    assert min(values) - 1e-3 <= mean <= max(values) + 1e-3

"""One job from an empty bucket to a downloaded model, through everything that is real."""

import json
from pathlib import Path

import httpx
import pytest
import torch
from tutti_fl import Client
from tutti_fl.outcome import Outcome

from tests.whole.builders import folder
from tests.whole.conftest import LiveStack, run

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def finished(ada: Client, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """A finished job of two workers and two rounds that started from a checkpoint."""
    root = folder(tmp_path_factory.mktemp("finished") / "line")
    (root / "model").mkdir()
    start = {"layer.weight": torch.zeros(1, 2), "layer.bias": torch.full((1,), 5.0)}
    torch.save(start, root / "model" / "start.pt")
    return run(ada, root, "line")


def job_id(finished: Outcome) -> str:
    assert finished.job is not None
    return finished.job.id


def text(client: Client, key: str) -> str:
    return httpx.get(client.files.sign(key).url).raise_for_status().text


def test_the_job_finishes_and_says_why(finished: Outcome) -> None:
    assert finished.job is not None
    assert finished.job.reason is not None
    assert (finished.job.state, finished.job.reason.code) == ("FINISHED", "completed")


def test_the_model_loads_strictly_without_pickles(finished: Outcome) -> None:
    assert finished.model_path is not None
    layer = torch.nn.Linear(2, 1)
    weights = torch.load(finished.model_path, weights_only=True)
    layer.load_state_dict({name.removeprefix("layer."): value for name, value in weights.items()}, strict=True)
    assert torch.isfinite(layer.weight).all()


def test_every_round_counts_every_worker(finished: Outcome) -> None:
    assert [round_.accepted for round_ in finished.rounds] == [("site-1", "site-2")] * 2


def test_training_started_from_the_checkpoint(finished: Outcome) -> None:
    first = finished.rounds[0].metrics["site-1"]["bias"]
    assert first is not None
    assert 1.5 < first < 5.0, "the bias moves from the checkpoint's 5 towards 1 and is still far from it after one round"


def test_the_loss_falls(finished: Outcome) -> None:
    losses = [round_.metrics["server"]["loss"] for round_ in finished.rounds]
    assert losses[0] is not None
    assert losses[1] is not None
    assert losses[1] < losses[0]


def test_the_rounds_are_kept(finished: Outcome, ada: Client) -> None:
    keys = [item.key for item in ada.files.list(f"jobs/line/model_out/{job_id(finished)}/rounds/")]
    assert [key.rsplit("/", 1)[-1] for key in keys] == ["round_0.pt", "round_1.pt"]


def test_the_model_also_lies_where_users_look_first(finished: Outcome, ada: Client) -> None:
    assert ada.files.find("jobs/line/model_out/GLOBAL_MODEL.pt") is not None


def test_what_the_function_wrote_is_kept_per_worker(finished: Outcome, ada: Client) -> None:
    assert text(ada, f"jobs/line/files_out/{job_id(finished)}/site-2/note.txt") == "site-2"


def test_metrics_json_holds_every_worker_of_every_round(finished: Outcome, ada: Client) -> None:
    document = json.loads(text(ada, f"jobs/line/files_out/{job_id(finished)}/metrics.json"))
    assert [sorted(row["metrics"]) for row in document["rounds"]] == [["server", "site-1", "site-2"]] * 2


@pytest.mark.parametrize("source", ["server", "site-1", "site-2"])
def test_every_process_has_a_log(finished: Outcome, ada: Client, source: str) -> None:
    assert next(iter(ada.jobs.logs(job_id(finished), source)), None) is not None


def test_the_users_own_words_are_in_the_workers_log(finished: Outcome, ada: Client) -> None:
    segments = ada.jobs.logs(job_id(finished), "site-1")
    assert any("trained on 60 rows" in httpx.get(segment.url).text for segment in segments)


def test_progress_inside_a_round_was_seen(finished: Outcome, ada: Client) -> None:
    feed = [item.change for item in ada.jobs.live(job_id(finished)).feed]
    assert any(getattr(change, "source", "") == "progress" for change in feed)


def test_nothing_is_left_running_or_held(finished: Outcome, ada: Client, stack: LiveStack) -> None:
    assert stack.workers_of(job_id(finished)) == []
    offer = next(offer for offer in ada.jobs.offers() if offer.gpu_type == "cpu")
    assert offer.free == offer.total


def test_the_launched_files_show_their_difference_from_the_workspace(finished: Outcome, ada: Client) -> None:
    launched = ada.transport.call("GET", f"/jobs/{job_id(finished)}/launched")
    assert any("+" in file["diff"] for file in launched["files"])


def test_the_work_folders_of_an_ended_job_are_empty(finished: Outcome, stack: LiveStack) -> None:
    left = list((stack.data / "work" / job_id(finished)).rglob("*.zip"))
    assert left == []


def test_the_starter_template_trains_as_it_is(ada: Client, tmp_path: Path) -> None:
    built = ada.workspaces.create("starter")
    template = next(file.path for file in built.files if file.path.endswith("model_def_wrapper_template.py"))
    root = folder(tmp_path / "starter", shards=1, model_def=ada.workspaces.read("starter", template).text)
    outcome = run(ada, root, "starter", rounds=1)
    assert outcome.job is not None
    assert outcome.job.state == "FINISHED"

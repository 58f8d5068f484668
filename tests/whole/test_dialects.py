"""Workspaces written to other generations of the port guide run as they are."""

import io
from pathlib import Path

import httpx
import pytest
import torch
from tutti_fl import Client, Settings
from tutti_fl.folder import read_folder
from tutti_fl.outcome import Outcome
from tutti_fl.plain_teller import PlainTeller
from tutti_fl.run import JobRun, Wish

from chalicelib.domain.workspaces import EXECUTOR
from chalicelib.job_scripts.sources import sources
from tests.whole.dialects import IMAGES, dialect_folder

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.timeout(900)]


def run_dialect(client: Client, name: str, folder: Path) -> Outcome:
    """A run of the folder with every file as its user has it."""
    outcome = JobRun(client, Wish(read_folder(folder), f"dialect-{name}", Settings()), PlainTeller(io.StringIO())).run()
    assert outcome.job is not None, outcome.report
    return outcome


@pytest.fixture(scope="module")
def guide(ada: Client, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return run_dialect(ada, "guide", dialect_folder("guide", tmp_path_factory.mktemp("guide") / "ws"))


@pytest.fixture(scope="module")
def lower(ada: Client, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return run_dialect(ada, "lower", dialect_folder("lower", tmp_path_factory.mktemp("lower") / "ws", rounds=2))


@pytest.fixture(scope="module")
def lower_on_ours(ada: Client, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """The training function of that dialect, called by the executor that the wizard generates."""
    folder = dialect_folder("lower", tmp_path_factory.mktemp("lower-on-ours") / "ws", rounds=2)
    (folder / "scripts" / EXECUTOR).write_text(sources()[EXECUTOR])
    return run_dialect(ada, "lower-on-ours", folder)


@pytest.fixture(scope="module", params=["guide", "lower", "lower_on_ours"])
def finished(request: pytest.FixtureRequest) -> Outcome:
    """Each of the dialects' runs."""
    outcome: Outcome = request.getfixturevalue(request.param)
    return outcome


def text(client: Client, outcome: Outcome, path: str) -> str:
    """An output of the job."""
    assert outcome.job is not None
    key = f"jobs/{outcome.workspace}/files_out/{outcome.job.id}/{path}"
    return httpx.get(client.files.sign(key).url).raise_for_status().text


def test_the_job_finishes(finished: Outcome) -> None:
    assert finished.job is not None
    assert (finished.job.state, finished.job.rounds_done) == ("FINISHED", 2), finished.job.reason


def test_every_image_of_every_worker_counts(finished: Outcome) -> None:
    assert [(round_.samples["site-1"], round_.samples["site-2"]) for round_ in finished.rounds] == [IMAGES] * 2


def test_what_the_function_wrote_is_kept(finished: Outcome, ada: Client) -> None:
    assert finished.job is not None
    kept = [item.key for item in ada.files.list(f"jobs/{finished.workspace}/files_out/{finished.job.id}/")]
    assert len([key for key in kept if key.endswith("/last_loss.txt")]) == 2


def test_the_guides_counters_are_integers_again(guide: Outcome) -> None:
    assert guide.model_path is not None
    counter = torch.load(guide.model_path, weights_only=True)["model.1.num_batches_tracked"]
    # 10 images in batches of 4 are 3 batches; 3 epochs in each of 2 rounds.
    assert (counter.dtype, int(counter)) == (torch.int64, 18)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("guide", "round 1 epoch 2: loss"),
        ("lower", "site-1, round 1: 10 images, 100% of them used"),
        ("lower_on_ours", "site-1, round 1: 10 images, 100% of them used"),
    ],
)
def test_what_the_function_logs_is_in_the_workers_log(run: str, words: str, ada: Client, request: pytest.FixtureRequest) -> None:
    outcome: Outcome = request.getfixturevalue(run)
    assert outcome.job is not None
    segments = ada.jobs.logs(outcome.job.id, "site-1")
    assert any(words in httpx.get(segment.url).text for segment in segments)


def test_a_dict_given_to_a_plain_logger_is_progress(lower_on_ours: Outcome, ada: Client) -> None:
    assert lower_on_ours.job is not None
    changes = [item.change for item in ada.jobs.live(lower_on_ours.job.id).feed]
    assert any(getattr(change, "source", "") == "progress" for change in changes)

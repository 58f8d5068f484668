"""The examples, run as their READMEs say: what they promise holds on data that nobody trained on."""

import io
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from tutti_fl import Client, Settings
from tutti_fl.folder import read_folder
from tutti_fl.outcome import Outcome
from tutti_fl.plain_teller import PlainTeller
from tutti_fl.run import JobRun, Wish

import examples.digits.make_shards
import examples.messages.make_shards
import examples.shapes.make_shards
from examples.digits.evaluation import Jury, load_module
from examples.messages.evaluation import accuracy
from examples.shapes.evaluation import mean_iou
from tests.whole.conftest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.timeout(900)]

EXAMPLES = ROOT / "examples"
DIGITS = {"local_epochs": 3, "batch_size": 16, "learning_rate": 0.005}
SITES = ("site-1", "site-2", "site-3")


def copied(name: str, to: Path) -> Path:
    """A copy of an example as it is committed, without what a run has left."""
    return shutil.copytree(
        EXAMPLES / name, to / name, ignore=shutil.ignore_patterns("__pycache__", "shards", "model", "model_out")
    )


def run_example(client: Client, folder: Path, rounds: int, **parameters: Any) -> Outcome:
    """The run of the README."""
    torch.set_num_threads(1)  # the evaluation shares its cores with the stack
    settings = Settings(parameters=parameters, federation={"rounds": rounds})
    outcome = JobRun(client, Wish(read_folder(folder), folder.name, settings), PlainTeller(io.StringIO())).run()
    assert outcome.job is not None, outcome.report
    assert outcome.job.state == "FINISHED", outcome.job.reason
    return outcome


def model_of(outcome: Outcome) -> Path:
    assert outcome.model_path is not None
    return outcome.model_path


def samples(outcome: Outcome) -> list[list[int]]:
    """Per round, how many samples each worker trained on."""
    return [[round_.samples[site] for site in SITES] for round_ in outcome.rounds]


@pytest.fixture(scope="module")
def shapes(ada: Client, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """The shapes, with what a Mac leaves among the pictures of one shard."""
    folder = copied("shapes", tmp_path_factory.mktemp("shapes"))
    shards, _ = examples.shapes.make_shards.make_shards(folder)
    with zipfile.ZipFile(shards[1], "a") as shard:
        shard.writestr("images/.DS_Store", b"\0\0\0\1Bud1" + b"\0" * 60)
    return folder, run_example(ada, folder, 5, local_epochs=2, batch_size=4, learning_rate=0.005)


@pytest.fixture(scope="module")
def messages(ada: Client, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    folder = copied("messages", tmp_path_factory.mktemp("messages"))
    examples.messages.make_shards.make_shards(folder)
    return folder, run_example(ada, folder, 5, local_epochs=2, batch_size=16, learning_rate=0.02)


@pytest.fixture(scope="module")
def digits(ada: Client, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    folder = copied("digits", tmp_path_factory.mktemp("digits"))
    examples.digits.make_shards.make_shards(folder)
    return folder, run_example(ada, folder, 8, **DIGITS)


def test_shapes_are_marked_in_pictures_nobody_trained_on(shapes: tuple[Path, Outcome]) -> None:
    folder, outcome = shapes
    assert mean_iou(model_of(outcome), folder / "held_out") >= 0.6


def test_every_picture_counts_and_nothing_else(shapes: tuple[Path, Outcome]) -> None:
    assert samples(shapes[1]) == [[32, 20, 12]] * 5


def test_batch_norm_counters_stay_integers_that_count(shapes: tuple[Path, Outcome]) -> None:
    counters = {n: c for n, c in torch.load(model_of(shapes[1]), weights_only=True).items() if n.endswith("num_batches_tracked")}
    # The largest shard has 8 batches an epoch; 2 epochs in each of 5 rounds.
    assert {(counter.dtype, int(counter)) for counter in counters.values()} == {(torch.int64, 80)}


def test_messages_are_sorted_that_nobody_trained_on(messages: tuple[Path, Outcome]) -> None:
    folder, outcome = messages
    assert accuracy(model_of(outcome), folder / "held_out.tsv") >= 0.85


def test_every_message_counts(messages: tuple[Path, Outcome]) -> None:
    assert samples(messages[1]) == [[180, 120, 60]] * 5


def test_a_label_that_one_shop_never_saw_is_learned(messages: tuple[Path, Outcome]) -> None:
    folder, outcome = messages
    questions = folder / "questions.tsv"
    rows = (folder / "held_out.tsv").read_text("utf-8").splitlines(keepends=True)
    questions.write_text("".join(row for row in rows if row.endswith("\t2\n")), "utf-8")
    assert accuracy(model_of(outcome), questions) >= 0.75


def test_round_0_starts_from_the_base_model_on_every_worker(messages: tuple[Path, Outcome]) -> None:
    folder, outcome = messages
    model_def = load_module(folder / "scripts" / "model_def.py")
    base = model_def.FLModelWrapper()
    base.load_state_dict(torch.load(folder / "model" / "base.pt", weights_only=True), strict=True)
    expected = []
    for number in range(3):
        with zipfile.ZipFile(folder / "shards" / f"shard_{number}.zip") as shard:
            path = Path(shard.extract("messages.tsv", folder / f"unpacked_{number}"))
        expected.append(model_def.evaluate(base, model_def.read_messages(path))[0])
    measured = [outcome.rounds[0].metrics[site]["loss_before"] for site in SITES]
    assert measured == pytest.approx(expected, rel=1e-5)


def test_digits_are_read_that_nobody_trained_on(digits: tuple[Path, Outcome]) -> None:
    folder, outcome = digits
    jury = Jury(load_module(folder / "scripts" / "model_def.py"), folder / "held_out.npz")
    assert jury.accuracy_of_file(model_of(outcome)) >= 0.93


@pytest.mark.parametrize("shard", range(3))
def test_no_worker_alone_reads_digits_that_well(digits: tuple[Path, Outcome], shard: int, tmp_path: Path) -> None:
    folder, _ = digits
    jury = Jury(load_module(folder / "scripts" / "model_def.py"), folder / "held_out.npz")
    assert jury.alone(folder / "shards" / f"shard_{shard}.zip", tmp_path, rounds=8, parameters=DIGITS) < 0.9


def test_every_digit_that_is_not_kept_to_validate_counts(digits: tuple[Path, Outcome]) -> None:
    sizes = [len(labels) for _, labels in examples.digits.make_shards.cut()[1]]
    assert samples(digits[1]) == [[size - size // 5 for size in sizes]] * 8

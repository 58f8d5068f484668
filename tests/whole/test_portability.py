"""What the wizard writes runs in a federation that knows nothing of Tutti, after ``tutti export`` has laid it out."""

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import torch
from tutti_fl import Client, Settings

import examples.messages.make_shards
from examples.digits.evaluation import load_module
from examples.messages.evaluation import accuracy
from tests.client.builders import type_command
from tests.whole.conftest import ROOT
from tests.whole.dialects import dialect_folder
from tests.whole.handmade import SITES, Federation, federation

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.timeout(900)]

ENDS_WITHIN_S = 300
EXAMPLE = ROOT / "examples" / "messages"


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    with federation(tmp_path_factory.mktemp("by-hand") / "federation") as running:
        yield running


def exported(workspace: Path) -> Path:
    """The job that the documented command makes, for two sites that share this machine."""
    job = workspace.with_name(f"{workspace.name}-nvflare")
    roots = [f"--data-root={site}={unpacked(workspace, number)}" for number, site in enumerate(SITES)]
    typed = type_command("export", str(workspace), "--out", str(job), *roots, home=workspace.parent)
    assert typed.code == 0, typed.err
    return job


def unpacked(workspace: Path, number: int) -> Path:
    """A shard unpacked as its site would."""
    folder = workspace.parent / f"data_{number}"
    with zipfile.ZipFile(workspace / "shards" / f"shard_{number}.zip") as shard:
        shard.extractall(folder)
    return folder


def fetched(client: Client, name: str, to: Path) -> Path:
    """A workspace as ``aws s3 cp --recursive`` fetches it."""
    prefix = f"jobs/{name}/"
    for item in client.files.list(prefix):
        path = to / item.key.removeprefix(prefix)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(httpx.get(client.files.sign(item.key).url).raise_for_status().content)
    return to


@pytest.fixture(scope="module")
def workspace(ada: Client, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the wizard writes into the bucket, with the messages example put beside it."""
    parameters = {"local_epochs": 2, "batch_size": 16, "learning_rate": 0.02}
    ada.account.create_bucket()
    built = ada.workspaces.create("portable", Settings(parameters=parameters, federation={"rounds": 3, "minimum_workers": 2}))
    folder = fetched(ada, built.name, tmp_path_factory.mktemp("portable") / "ws")
    shutil.copy(EXAMPLE / "scripts" / "model_def.py", folder / "scripts")
    examples.messages.make_shards.make_shards(folder)
    return folder


def test_a_generated_workspace_trains_from_its_checkpoint_byte_for_byte(workspace: Path, by_hand: Federation) -> None:
    job = exported(workspace)
    for script in (workspace / "scripts").iterdir():
        for app in ("app_server", *(f"app_{site}" for site in SITES)):
            assert (job / app / "custom" / script.name).read_bytes() == script.read_bytes()
    model = by_hand.run(job, within_s=ENDS_WITHIN_S).model()
    start, held_out = workspace / "model" / "base.pt", workspace / "held_out.tsv"
    assert accuracy(model, held_out) > accuracy(start, held_out) + 0.1


def test_a_workspace_of_the_port_guide_trains_there_too(by_hand: Federation, tmp_path: Path) -> None:
    folder = dialect_folder("guide", tmp_path / "guide")
    model = by_hand.run(exported(folder), within_s=ENDS_WITHIN_S).model()
    built = load_module(folder / "scripts" / "model_def.py").FLModelWrapper(pretrained=False)
    built.load_state_dict(torch.load(model, weights_only=True), strict=True)
    counter = built.state_dict()["model.1.num_batches_tracked"]
    assert (counter.dtype, int(counter) > 0) == (torch.int64, True)

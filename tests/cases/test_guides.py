"""The guides: every Python snippet is run, every line for the shell is one that the command line takes."""

import re
import shlex
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from tutti_fl.arguments import parser

from chalicelib.domain import object_keys

GUIDES = Path(__file__).parents[2] / "docs/guides"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def snippets(guide: str, language: str) -> list[str]:
    """The code of one language, in the order of the page."""
    text = (GUIDES / f"{guide}.md").read_text(encoding="utf-8")
    return [code for kind, code in _FENCE.findall(text) if kind == language]


def run(guide: str) -> dict[str, Any]:
    """All Python of a guide, run as one module."""
    space: dict[str, Any] = {"__name__": f"guide_{guide}"}
    exec(compile("\n".join(snippets(guide, "python")), f"{guide}.md", "exec"), space)  # noqa: S102 - that is the test
    return space


def shell_lines() -> list[str]:
    return [line for guide in GUIDES.glob("*.md") for code in snippets(guide.stem, "sh") for line in code.splitlines()]


def test_every_snippet_is_of_a_language_that_is_tested() -> None:
    kinds = {kind for guide in GUIDES.glob("*.md") for kind, _ in _FENCE.findall(guide.read_text(encoding="utf-8"))}
    assert kinds <= {"python", "sh", "text"}


@pytest.mark.parametrize("line", shell_lines())
def test_a_line_for_the_shell_is_one_the_command_line_takes(line: str) -> None:
    program, *words = shlex.split(line, comments=True)
    assert program == "tutti"
    assert parser().parse_args(words).command == words[0]


def test_the_sharding_snippet_deals_every_pair_once(tmp_path: Path) -> None:
    for number in range(10):
        for folder in ("images", "labels"):
            (tmp_path / "data" / folder).mkdir(parents=True, exist_ok=True)
            (tmp_path / "data" / folder / f"{number}.png").write_bytes(b"x")
    shards = run("sharding")["write_shards"](tmp_path / "data", 3, tmp_path / "shards")
    dealt = [name for shard in shards for name in zipfile.ZipFile(shard).namelist()]
    assert [shard.name for shard in shards] == ["shard_0.zip", "shard_1.zip", "shard_2.zip"]
    assert sorted(dealt) == sorted(f"{folder}/{number}.png" for number in range(10) for folder in ("images", "labels"))


def test_the_porting_snippet_trains_on_the_weights_it_is_given(tmp_path: Path) -> None:
    module = run("porting")
    said: list[dict[str, float]] = []
    before = module["FLModelWrapper"](num_classes=10, a_key_of_the_server_config=1).get_weights()
    payload = {"env": {"LR": 0.5, "EPOCHS": 3}, "initial_weights": before, "dataset": {"data_root": str(tmp_path)}}
    answer = module["fl_train_model"](payload, str(tmp_path), said.append)
    assert answer["samples"] == 32
    assert [line["epoch"] for line in said] == [1, 2, 3]
    assert said[-1]["loss"] < said[0]["loss"]
    assert not torch.equal(answer["weights"]["net.0.weight"], before["net.0.weight"])


def test_the_tracking_snippet_loads_a_model(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 1)
    torch.save({"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, tmp_path / "GLOBAL_MODEL.pt")
    assert run("tracking")["load_model"](model, tmp_path / "GLOBAL_MODEL.pt").weight.sum() == 2


def test_the_drawing_of_a_jobs_outputs_names_what_jobs_write() -> None:
    [drawing] = [text for text in snippets("tracking", "text") if "model_out/" in text]
    for key in (object_keys.newest_model("n"), object_keys.round_model("n", "j", 0), object_keys.metrics("n", "j")):
        assert key.rpartition("/")[2] in drawing

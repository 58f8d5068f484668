"""``tutti export``: a workspace's folder as a job for any NVFLARE federation."""

import json
from pathlib import Path
from typing import Any

import pytest
from tutti_fl.export import export_job

from chalicelib.domain.flare_config import launched_copy
from chalicelib.domain.workspaces import render
from chalicelib.job_scripts.sources import sources
from tests.client.builders import Typed, type_command
from tests.domain.builders import MODEL_DEF, form

CLIENT, SERVER, META = "configs/config_fed_client.json", "configs/config_fed_server.json", "configs/meta.json"
SHORT = """{
  "executor": {
    "path": "custom_client_executor.GenericClientExecutor",
    "args": {
      "data_root": "/var/tmp/nvflare/data", // DON'T CHANGE
      "url": "https://example.org//data", /* two slashes that stay */
      "note": "say \\"// no comment\\"",
      "num_classes": 3 // MUST match server config
    }
  }
}
"""


def generated() -> dict[str, str]:
    return render(form(), sources()) | {"scripts/model_def.py": MODEL_DEF.decode()}


def written(root: Path, **changes: str) -> Path:
    """A downloaded workspace of generated files; ``changes`` replace the configs ``client``, ``server`` and ``meta``."""
    names = {"client": CLIENT, "server": SERVER, "meta": META}
    for path, text in (generated() | {names[name]: text for name, text in changes.items()}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return root


def value(path: Path) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return parsed


def persistor_args(job: Path, app: str = "app") -> dict[str, Any]:
    [args] = [
        each["args"] for each in value(job / app / "config/config_fed_server.json")["components"] if each["id"] == "persistor"
    ]
    return dict(args)


def executor_of(job: Path, app: str = "app") -> dict[str, Any]:
    return dict(value(job / app / "config/config_fed_client.json")["executors"][0]["executor"])


def export(tmp_path: Path, *flags: str) -> Typed:
    return type_command("export", str(tmp_path / "ws"), "--out", str(tmp_path / "job"), *flags, home=tmp_path)


@pytest.mark.parametrize("path", sorted(generated().keys() - {"requirements/requirements.txt"}))
def test_every_generated_file_keeps_its_bytes(tmp_path: Path, path: str) -> None:
    export_job(written(tmp_path / "ws"), tmp_path / "job")
    folders = {"scripts": "app/custom", "configs": "app/config"}
    place = "meta.json" if path == META else path.replace(path.partition("/")[0], folders[path.partition("/")[0]])
    assert (tmp_path / "job" / place).read_bytes() == (tmp_path / "ws" / path).read_bytes()


def test_an_unchanged_config_shows_no_difference(tmp_path: Path) -> None:
    assert export_job(written(tmp_path / "ws"), tmp_path / "job").differences == []


def test_the_guides_short_form_is_expanded_and_its_comments_are_gone(tmp_path: Path) -> None:
    export_job(written(tmp_path / "ws", client=SHORT), tmp_path / "job")
    client = value(tmp_path / "job/app/config/config_fed_client.json")
    assert [row["tasks"] for row in client["executors"]] == [["train"]]
    assert executor_of(tmp_path / "job")["args"]["url"] == "https://example.org//data"
    assert "executor" not in client


def test_export_and_launch_expand_the_short_form_alike(tmp_path: Path) -> None:
    export_job(written(tmp_path / "ws", client=SHORT), tmp_path / "job")
    files = {path: text.encode() for path, text in (generated() | {CLIENT: SHORT}).items()}
    launched = json.loads(
        launched_copy(files, job_id="j", workers=2, checkpoint=False, scripts=sources())["app/config/config_fed_client.json"]
    )
    assert executor_of(tmp_path / "job") == launched["executors"][0]["executor"]
    assert value(tmp_path / "job/app/config/config_fed_client.json").keys() <= launched.keys()


def test_a_changed_config_shows_its_difference(tmp_path: Path) -> None:
    written(tmp_path / "ws")
    assert '"data_root": "/data",' in export(tmp_path, "--data-root", "/data").out


def test_sites_that_share_a_machine_get_an_app_each(tmp_path: Path) -> None:
    written(tmp_path / "ws")
    assert export(tmp_path, "--data-root", "site-1=/data/a", "--data-root", "site-2=/data/b").code == 0
    job = tmp_path / "job"
    assert [executor_of(job, f"app_site-{n}")["args"]["data_root"] for n in (1, 2)] == ["/data/a", "/data/b"]
    assert value(job / "meta.json")["deploy_map"] == {
        "app_server": ["server"],
        "app_site-1": ["site-1"],
        "app_site-2": ["site-2"],
    }


def test_a_checkpoint_travels_in_the_job(tmp_path: Path) -> None:
    (written(tmp_path / "ws") / "model").mkdir()
    (tmp_path / "ws/model/base.pt").write_bytes(b"weights")
    export_job(tmp_path / "ws", tmp_path / "job", {"site-1": "/data"})
    assert persistor_args(tmp_path / "job", "app_server")["source_ckpt_file_full_name"] == "base.pt"
    assert (tmp_path / "job/app_server/custom/base.pt").read_bytes() == b"weights"


def test_the_checkpoint_line_of_the_guide_goes_when_there_is_no_checkpoint(tmp_path: Path) -> None:
    server = json.loads(generated()[SERVER])
    server["components"][0]["args"]["source_ckpt_file_full_name"] = "/app/checkpoints/GLOBAL_MODEL.pt"
    export_job(written(tmp_path / "ws", server=json.dumps(server)), tmp_path / "job")
    assert "source_ckpt_file_full_name" not in persistor_args(tmp_path / "job")


def test_two_checkpoints_are_refused_by_name(tmp_path: Path) -> None:
    (written(tmp_path / "ws") / "model").mkdir()
    for name in ("a.pt", "b.pt"):
        (tmp_path / "ws/model" / name).write_bytes(b"")
    assert "a.pt, b.pt" in export(tmp_path).err


def test_a_folder_without_configs_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (written(tmp_path / "ws") / CLIENT).unlink()
    typed = export(tmp_path)
    assert (typed.code, "aws s3 cp" in typed.err, (tmp_path / "job").exists()) == (1, True, False)


def test_a_config_that_is_no_json_is_refused_with_its_line(tmp_path: Path) -> None:
    written(tmp_path / "ws", client='{\n  "executors": [],\n}')
    assert "line 3" in export(tmp_path).err


def test_a_folder_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    written(tmp_path / "ws")
    export(tmp_path)
    assert (export(tmp_path).code, "is there already" in export(tmp_path).err) == (1, True)


@pytest.mark.parametrize("flags", [["data"], ["site-1=data"], ["/a", "/b"], ["/a", "site-1=/b"], ["=/a"]])
def test_a_data_root_that_nobody_could_mean_is_wrong_use(tmp_path: Path, flags: list[str]) -> None:
    written(tmp_path / "ws")
    assert export(tmp_path, *(part for flag in flags for part in ("--data-root", flag))).code == 2


def test_a_config_saved_with_a_byte_order_mark_is_read_and_written_without(tmp_path: Path) -> None:
    export_job(written(tmp_path / "ws", client="\ufeff" + generated()[CLIENT]), tmp_path / "job")
    assert (tmp_path / "job/app/config/config_fed_client.json").read_text("utf-8") == generated()[CLIENT]

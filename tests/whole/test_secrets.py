"""User code that prints all it can find and then fails quoting it: none of it is kept, and the cause is told all the same."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from tutti_fl import Client
from tutti_fl.outcome import Outcome

from tests.whole.builders import folder, spoiled
from tests.whole.conftest import LiveStack, run

pytestmark = [pytest.mark.process, pytest.mark.slow]

TRAIN = '    env = payload["env"]\n'
BUS_ERROR = (
    "DataLoader worker (pid 61) is killed by signal: Bus error. It is possible that dataloader's workers are out of memory"
)
CANARY = "f00dcafe" * 8
"""Stands for the signature of a URL that user code was given."""
TELLING = f"""
    import glob, hashlib, json, re
    work = os.path.dirname(os.environ["TUTTI_JOURNAL"])
    found = {{k: v for k, v in os.environ.items() if re.search("TOKEN|SECRET|SIGNATURE|SSID|PASSW", k) and len(v) >= 8}}
    for place in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(place, "rb") as file:
                held = dict(part.split("=", 1) for part in file.read().decode(errors="replace").split("\\0") if "=" in part)
        except OSError:
            continue
        if env["JOB_ID"] in held.get("TUTTI_HANDLE", "") and held.get("TUTTI_CODE"):
            found["CODE of " + held["TUTTI_HANDLE"]] = held["TUTTI_CODE"]
    keys = glob.glob(work + "/**/*.key", recursive=True)
    for number, name in enumerate(keys):
        with open(name) as file:
            text = file.read()
        found[f"{{number}}_private_key"] = text.splitlines()[1]
        print(text)
    with open(NOTE + env["SITE_NAME"] + ".json", "w") as note:
        json.dump(found, note)
    url = "https://h/b?X-Amz-Credential=TUABC%2F1&X-Amz-Signature={CANARY}&x=1"
    print(os.environ, found, url)
    print(json.dumps(dict(os.environ)), json.dumps(json.dumps(found)))
    logger(f"fetching {{url}} with {{found}}")
    logger({{"epoch": 1, "of": 2, "loss": 0.5}})
    start = payload["initial_weights"]
    digest = hashlib.sha256(b"".join(start[name].numpy().tobytes() for name in sorted(start))).hexdigest()
    if env["CURRENT_ROUND"] == 1:
        raise RuntimeError("{BUS_ERROR} [" + url + "] " + json.dumps(found))
"""
RETURN = '"loss": loss.item()}'
OURS = re.compile(rb"tutti_(?:worker_)?[A-Za-z0-9_-]{43}")
SIGNED = re.compile(rb"X-Amz-Signature=[0-9a-f]{64}")
MADE_FOR_SECRETS = ("aws.env",)


@dataclass(frozen=True)
class Told:
    """A job that told everything: how it ended, what there was to tell, and what was kept."""

    outcome: Outcome
    secrets: dict[str, str]
    kept: dict[str, bytes]

    @property
    def reason(self) -> Any:
        assert self.outcome.job is not None
        assert self.outcome.job.reason is not None
        return self.outcome.job.reason


@pytest.fixture(scope="module")
def told(ada: Client, stack: LiveStack, tmp_path_factory: pytest.TempPathFactory) -> Told:
    scratch = tmp_path_factory.mktemp("told")
    source = spoiled(TRAIN, TRAIN + TELLING.replace("NOTE", repr(f"{scratch}/note-"))).replace(
        RETURN, '"loss": loss.item(), "start": float(int(digest[:12], 16))}'
    )
    outcome = run(ada, folder(scratch / "f", model_def=source), "tells-all")
    secrets = {
        f"{note.stem} {name}": value
        for note in scratch.glob("note-*.json")
        for name, value in json.loads(note.read_text()).items()
    }
    kept = {str(file.relative_to(stack.data)): file.read_bytes() for file in sorted(stack.data.rglob("*")) if file.is_file()}
    return Told(outcome, secrets | {"a signed URL": CANARY}, kept | dict(objects(ada)))


def objects(client: Client) -> Iterator[tuple[str, bytes]]:
    """Every object of the workspace that is not an input."""
    keys = client.account.bucket_credentials()
    s3 = boto3.client(
        "s3",
        endpoint_url=keys.endpoint_url,
        region_name=keys.region,
        aws_access_key_id=keys.access_key_id,
        aws_secret_access_key=keys.secret_access_key,
        config=Config(s3={"addressing_style": "path"}),
    )
    for part in ("files_out", "model_out"):
        for row in s3.list_objects_v2(Bucket=keys.bucket, Prefix=f"jobs/tells-all/{part}/").get("Contents", []):
            yield f"s3:{row['Key']}", s3.get_object(Bucket=keys.bucket, Key=row["Key"])["Body"].read()
    s3.close()


def test_the_cause_is_told_with_its_class_its_worker_and_the_way_out(told: Told) -> None:
    assert (told.reason.code, told.reason.file, told.reason.round) == ("shared_memory", "scripts/model_def.py", 1)
    assert told.reason.site in told.reason.sentence
    assert "num_workers=0" in told.reason.advice


def test_there_was_something_to_tell_and_its_place_was_kept(told: Told) -> None:
    assert any(" CODE of " in name for name in told.secrets)
    assert any(name.endswith("_private_key") for name in told.secrets)
    logs = [data for name, data in told.kept.items() if name.startswith("s3:") and "/logs/" in name]
    assert any(b"X-Amz-Signature=***" in data for data in logs)
    assert any(name.endswith("/error.json") for name in told.kept)


def test_no_file_of_the_stack_and_no_object_of_the_job_holds_a_secret_of_the_job(told: Told) -> None:
    kept = {
        (name, secret) for name, data in told.kept.items() for secret, value in told.secrets.items() if value.encode() in data
    }
    # What user code wrote into its own script is its own.
    assert {(name, secret) for name, secret in kept if secret != "a signed URL"} == set()
    assert {name for name, secret in kept if secret == "a signed URL" and name.startswith("s3:")} == set()


def test_no_key_code_or_token_of_ours_and_no_signed_url_lies_anywhere(told: Told) -> None:
    ours = {name for name, data in told.kept.items() if OURS.search(data) and Path(name).name not in MADE_FOR_SECRETS}
    signed = {name for name, data in told.kept.items() if any(CANARY not in hit.decode() for hit in SIGNED.findall(data))}
    assert (ours, signed) == (set(), set())


def test_what_a_person_is_told_holds_none_either(told: Told) -> None:
    said = told.reason.sentence + "\n".join(told.reason.evidence)
    assert [name for name, value in told.secrets.items() if value in said] == []


def test_both_workers_began_round_0_from_the_same_weights(told: Told) -> None:
    """The case fl-start-equal, in a whole job."""
    starts = [values["start"] for site, values in told.outcome.rounds[0].metrics.items() if site != "server"]
    assert (len(starts), len(set(starts))) == (2, 1)

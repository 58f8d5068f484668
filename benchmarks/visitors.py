"""Users of a running stack, each with a bucket, a workspace and a job that has ended, and how to tell their answers apart."""

import re
import tempfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tutti_fl import Client
from tutti_fl.transfer import Send

from chalicelib.contracts.job import SERVER, Change, Job, JobState, LogSegmentStored, Metrics, RoundEnded, WorkerState
from chalicelib.domain import object_keys
from local_stack.identity import LocalIssuer
from local_stack.records import JobRecords, Records
from local_stack.stack import Places

ROUNDS = 10
_MARK = re.compile(rb"visitor-\d{3}")


@dataclass(frozen=True)
class Visitor:
    """One user; whatever is the user's own carries the name, so that an answer tells whose it is."""

    name: str
    token: str
    job: str
    seq: int
    upload: str

    @property
    def workspace(self) -> str:
        """The user's one workspace."""
        return f"w-{self.name}"

    def owns(self, body: bytes) -> bool:
        """Whether an answer speaks of this visitor and of no other."""
        return set(_MARK.findall(body)) == {self.name.encode()}


def invite(url: str, data: Path, count: int) -> list[Visitor]:
    """So many users of the stack at this address and data folder, with all they need; new ones in a fresh stack only."""
    places = Places(data)
    issuer = LocalIssuer(places.identity, f"{url}/auth", origin=url)
    records = Records(places.records)
    try:
        names = [f"visitor-{number:03d}" for number in range(count)]
        tokens = {name: issuer.access_token(name) for name in names}
        with ThreadPoolExecutor(2) as pool, tempfile.TemporaryDirectory() as folder:
            _write_files(Path(folder))
            return list(pool.map(lambda name: _settle(url, name, tokens[name], Path(folder), JobRecords(records)), names))
    finally:
        records.close()


def _settle(url: str, name: str, token: str, folder: Path, jobs: JobRecords) -> Visitor:
    workspace = f"w-{name}"
    with Client(url, token) as client:
        bucket = client.account.create_bucket().name
        client.workspaces.create(workspace)
        prefix = object_keys.workspace(workspace)
        sent = [path for path in folder.rglob("*") if path.is_file()]
        client.upload([Send(path, f"{prefix}{path.relative_to(folder).as_posix()}") for path in sent])
        client.report(workspace)
        upload = client.transport.call("POST", "/uploads", body={"key": f"{prefix}shards/{name}.zip", "size": 1 << 20})["id"]
        job = _ended_job(name, client.account.me().user, bucket, jobs)
    return Visitor(name, token, job.id, job.seq, upload)


def _write_files(folder: Path) -> None:
    for name in ("scripts", "shards"):
        (folder / name).mkdir()
    (folder / "scripts" / "model_def.py").write_text(
        "class FLModelWrapper: ...\n\n\ndef fl_train_model(payload, out_dir, logger): ...\n"
    )
    for number in range(3):
        with zipfile.ZipFile(folder / "shards" / f"shard_{number}.zip", "w") as archive:
            archive.writestr("rows.csv", "1,2,3\n")


def _ended_job(name: str, owner: str, bucket: str, jobs: JobRecords) -> Job:
    """A job as it is stored after its end, each visitor's with a feed of another length."""
    now, number = datetime.now(UTC), int(name[-3:])
    job = Job(
        id=f"job-{number:026d}",
        owner=owner,
        bucket=bucket,
        workspace=f"w-{name}",
        state=JobState.FINISHED,
        workers=3,
        minimum=2,
        rounds=ROUNDS,
        rounds_done=ROUNDS,
        gpu_type="cpu",
        created_at=now,
        running_at=now,
        ended_at=now + timedelta(minutes=1),
        start_deadline=now + timedelta(minutes=15),
    )
    workers = [WorkerState(site=site, attempt=1, joined=True, done=True, exited=True) for site in (SERVER, *_sites())]
    jobs.add(job, client_token=f"token-{name}", content=name, workers=workers)
    return jobs.commit(job, changes=list(_changes(job, name, segments=5 + number % 7)), workers=(), at=now)


def _changes(job: Job, name: str, *, segments: int) -> Iterator[Change]:
    for number in range(ROUNDS):
        for site in _sites():
            values: dict[str, float | None] = {"loss": 0.5, "accuracy": 0.9, name: 1.0}
            yield Metrics(site=site, round=number, source="train", values=values, samples=60)
        yield RoundEnded(round=number, accepted=_sites(), seconds=1.0)
    for number in range(1, segments + 1):
        key = f"jobs/{job.workspace}/files_out/{job.id}/logs/attempt-1/server/{number}.ndjson"
        yield LogSegmentStored(source=SERVER, attempt=1, number=number, key=key, lines=10, bytes=1000)


def _sites() -> tuple[str, ...]:
    return ("site-1", "site-2", "site-3")

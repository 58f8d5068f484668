"""What both roles of a worker share."""

import os
from pathlib import Path

from tutti_worker.forked import Outputs
from tutti_worker.logs import LogBook
from tutti_worker.messages import pair
from tutti_worker.settings import Settings
from tutti_worker.warm_link import WarmLink
from tutti_worker.worker import Worker


def test_logs_that_are_shipped_twice_close_no_descriptor_of_another(tmp_path: Path) -> None:
    (nvflare_read, nvflare), (job_read, job) = os.pipe(), os.pipe()
    here, there = pair()
    settings = Settings(api="http://127.0.0.1:9/api", code="code", work=tmp_path, host="127.0.0.1")
    worker = Worker(settings, WarmLink(0, here), Outputs(nvflare, job), {})
    worker.logs = LogBook(lambda *_: None)
    worker.logs.start()
    worker.ship_logs(5.0)
    others = [os.dup(nvflare_read), os.dup(job_read)]
    worker.ship_logs(5.0)
    assert sorted(others) == sorted((nvflare, job))
    for descriptor in (*others, nvflare_read, job_read):
        os.close(descriptor)
    for connection in (worker.api, worker.uploads, worker.downloads, here, there):
        connection.close()


def test_no_private_key_is_left_once_kits_are_forgotten(tmp_path: Path) -> None:
    here, there = pair()
    settings = Settings(api="http://127.0.0.1:9/api", code="code", work=tmp_path, host="127.0.0.1")
    worker = Worker(settings, WarmLink(0, here), Outputs(-1, -1), {})
    for name in ("kits/site-1.zip", "provision/tutti/prod_00/site-1/startup/client.key", "kit/startup/client.key", "kit.zip"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("key")
    worker.forget_kits()
    assert list(tmp_path.rglob("*.key")) + list(tmp_path.rglob("*.zip")) == []
    for connection in (worker.api, worker.uploads, worker.downloads, here, there):
        connection.close()

"""``python -m tutti_worker``: the supervisor of one worker."""

import os
import sys

from tutti_worker.forked import Outputs
from tutti_worker.layout import Layout
from tutti_worker.settings import SettingMissing, forget_secrets, read_settings
from tutti_worker.warm_link import borrow_warm, fork_warm


def main() -> int:
    """Fork the warm process while there is no thread yet, then supervise."""
    try:
        settings = read_settings(os.environ)
    except SettingMissing as error:
        sys.stderr.write(f"{error}\n")
        return 64
    forget_secrets()
    os.umask(0o077)
    Layout(settings.work).make()
    nvflare_read, nvflare_write = os.pipe()
    job_read, job_write = os.pipe()
    outputs = Outputs(nvflare_write, job_write)
    lent = borrow_warm(settings.nursery, outputs) if settings.nursery else None
    warm = lent or fork_warm(outputs, [nvflare_read, job_read])
    # What follows takes a quarter of a second to import; the warm process uses the time.
    from tutti_worker.supervisor import supervise
    from tutti_worker.worker import Worker

    return supervise(Worker(settings, warm, outputs, {"nvflare": nvflare_read, "job": job_read}))


if __name__ == "__main__":
    sys.exit(main())

"""The supervisor around NVFLARE that runs in every worker: one process per role, HTTP and signed URLs, no keys."""

"""How many threads a worker computes with."""


def worker_threads(workers: int, shared_cores: int | None) -> int:
    """OMP_NUM_THREADS of one of ``workers`` that share a machine's cores, at least 1; 0 (all there are) for one with a machine
    of its own."""
    return max(1, shared_cores // workers) if shared_cores else 0

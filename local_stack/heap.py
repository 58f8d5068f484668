"""How much freed memory the C library keeps for the threads of this process."""

import ctypes

_M_ARENA_MAX = -8
"""From glibc's malloc.h."""
_ARENAS = 2


def share_arenas() -> bool:
    """Let all threads that are started from now on allocate from two arenas, and answer whether this C library did so.

    By default glibc gives up to eight arenas a processor to threads and hands little of them back: after some thousand
    requests the gateway's sixteen threads hold twice what the process needs.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and mallopt(_M_ARENA_MAX, _ARENAS) == 1

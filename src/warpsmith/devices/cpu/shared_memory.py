"""Dynamic shared memory: its name in a module, and its size in a binary."""

DYNAMIC_SHARED = "__warpsmith_dynamic_shared"
LOCAL_PARAMETER = "__warpsmith_local_"
"""Variables in a module: what all `extern __shared__` arrays are, and, with its number behind, a `__local` parameter."""

_SMALL_BYTES = 64 * 1024


def reserved_shared_bytes(asked: int) -> int:
    """What a binary sets aside for a launch's dynamic shared memory: the same for all but large requests.

    So one binary serves every workload, and building it takes longer than all the rest. What is set aside and not used costs no
    time. Large requests are taken as they are, for static shared memory needs its place under the limit too.
    """
    return _SMALL_BYTES if 0 < asked <= _SMALL_BYTES else max(asked, 1)

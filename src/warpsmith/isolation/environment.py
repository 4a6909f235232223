"""What of our environment a worker may see: an allow-list, so that no key or token ever reaches a kernel or a compiler."""

from __future__ import annotations

import os
from collections.abc import Mapping

_NAMES = frozenset(
    {
        "HOME", "LANG", "PATH", "TMPDIR", "TZ", "USER", "XDG_CACHE_HOME",
        "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV",
        "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCM_PATH", "ROCR_VISIBLE_DEVICES",
    }
)  # fmt: skip
_PREFIXES = ("LC_", "OCL_", "POCL_")


def scrubbed_environment(extra: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in _NAMES or name.startswith(_PREFIXES)}
    return {**kept, **extra}

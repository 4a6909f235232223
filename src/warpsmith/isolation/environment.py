"""Environment of a worker: an allow-list, so that no key or token reaches a kernel or a compiler.

HOME and the folder for temporary files are its scratch folder: it could not write anywhere else.
"""

from __future__ import annotations

import os
import site
from collections.abc import Mapping
from pathlib import Path

_NAMES = frozenset(
    {
        "LANG", "PATH", "TZ", "USER",
        "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV",
        "CUDA_HOME", "CUDA_PATH", "ROCM_HOME", "ROCM_PATH",
        # Which GPUs are visible, in which order, and as which type.
        "CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "HIP_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION",
        "ROCR_VISIBLE_DEVICES",
    }
)  # fmt: skip
_PREFIXES = ("LC_", "OCL_", "POCL_")
_OURS = {"OPENBLAS_NUM_THREADS": "1"}  # NumPy would start threads for products of matrices, which no worker multiplies


_PLACES = ("HOME", "TMPDIR", "XDG_CACHE_HOME")


def scrubbed_environment(extra: Mapping[str, str], scratch: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in _NAMES or name.startswith(_PREFIXES)}
    # Otherwise the location of `pip install --user` packages would follow HOME.
    return {**kept, **_OURS, "PYTHONUSERBASE": site.getuserbase(), **dict.fromkeys(_PLACES, str(scratch)), **extra}

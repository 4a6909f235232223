"""Run by `test_stand_in.py` in a process that sees the stand-in: one kernel that goes wrong, and what the driver says from then on."""

from __future__ import annotations

import sys

import numpy as np
from stand_in_language import BODIES, run

BODIES |= {
    "misaligned": "y = *reinterpret_cast<const float*>(reinterpret_cast<const char*>(in) + 2);",
    "beyond": "out[(1ll << 36) + t] = x;",
    "shared": "extern __shared__ float more[]; more[t + (n << 20)] = x; __syncthreads(); y = more[t];",
    "asserts": "assert(x > 1e9f);",
    "traps": "if (t == 99) __trap();",
}

if __name__ == "__main__":
    for name in (sys.argv[1], "floats"):
        try:
            run("standin", name, np.ones(256, np.float32))
        except Exception as error:  # noqa: BLE001 - which one it is, is asked
            print(f"{type(error).__name__}: {error}".partition("\n")[0])  # noqa: T201

"""A kernel that the CPU device gets wrong, in two languages: a mistake of the runtime's vectoriser that no pass of ours mends."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from cpu_support import launch

from warpsmith.core.hardware import Language

# Where a thread begins follows from the choice that it makes in every trip.
_BODY = """
  int last = 7;
  for (int i = k & 1; i < n; ++i) {
    if (i * 2 > k) { out[t] = last; return; }
    last = k & 1 ? odd[t + i] : even[i].c;
  }
}"""
IN_CUDA = f"""struct Row {{ int a, b, c, d; }};
__global__ void k(int* out, const int* in, const int* odd, const Row* even, int n) {{
  const int t = blockIdx.x * blockDim.x + threadIdx.x, k = in[t];{_BODY}"""
IN_OPENCL = f"""typedef struct {{ int a, b, c, d; }} Row;
__kernel void k(__global int* out, __global const int* in, __global const int* odd, __global const Row* even, int n) {{
  const int t = get_global_id(0), k = in[t];{_BODY}"""
_TRIPS = 24


@cache
def outputs(source: str, *, plain: bool) -> np.ndarray:
    language = Language.OPENCL if source == IN_OPENCL else Language.CUDA
    wanted, odd, even = _inputs()
    arguments = [np.full_like(wanted, -1), wanted, odd, even, np.int32(_TRIPS)]
    return launch(source, arguments, grid=4, block=64, plain=plain, language=language)


def expected() -> np.ndarray:
    wanted, odd, even = _inputs()
    return np.array([_of(thread, int(k), odd, even) for thread, k in enumerate(wanted)], np.int32)


def need_it_wrong(source: str) -> None:
    """Skips the test where this machine's vectors, or another version of the runtime, come to the right numbers."""
    if np.array_equal(outputs(source, plain=False), expected()):
        pytest.skip("the vectoriser gets this kernel right here: it needs another one")


def _inputs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    numbers = np.random.default_rng(0)
    wanted, odd = (numbers.integers(0, 48, size).astype(np.int32) for size in (256, 512))
    return wanted, odd, numbers.integers(0, 60, (_TRIPS, 4)).astype(np.int32)


def _of(thread: int, k: int, odd: np.ndarray, even: np.ndarray) -> int:
    last = 7
    for i in range(k & 1, _TRIPS):
        if i * 2 > k:
            return last
        last = odd[thread + i] if k & 1 else even[i, 2]
    return -1

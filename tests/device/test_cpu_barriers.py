"""Threads that leave before a barrier, barriers in branches and loops: right, or a failed launch; never a wrong number."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_support import launch

from warpsmith.devices.base import LaunchError

BLOCK, GRID, UNTOUCHED = 256, 4, -7.0
SIZE, LIVE = BLOCK * GRID, 1000
VALUES = np.random.default_rng(0).standard_normal(SIZE).astype(np.float32)

BLOCK_SUM = """
__device__ float block_sum(float v, float* s) {
  int t = threadIdx.x;
  s[t] = v;
  __syncthreads();
  for (int m = blockDim.x / 2; m > 0; m >>= 1) {
    if (t < m) s[t] += s[t + m];
    __syncthreads();
  }
  float r = s[0];
  __syncthreads();
  return r;
}
struct Range { int low, high; };
__device__ bool outside(const Range& range, int i) { return i >= range.high; }
"""

HEAD = """
__global__ void k(float* o, const float* a, int n) {
  __shared__ float s[256];
  const int t = threadIdx.x;
  const int i = blockIdx.x * blockDim.x + t;
  s[t] = 0;
  __syncthreads();
"""


def run(body: str, *, head: str = HEAD, block: int | tuple[int, ...] = BLOCK) -> np.ndarray:
    out = np.full(SIZE, UNTOUCHED, np.float32)
    return launch(f"{BLOCK_SUM}{head}{body}}}", [out, VALUES, np.int32(LIVE)], grid=GRID, block=block)


def sums_of_live() -> np.ndarray:
    live = (np.arange(SIZE) < LIVE).reshape(GRID, BLOCK)
    sums = np.where(live, VALUES.reshape(GRID, BLOCK), 0).sum(1, keepdims=True, dtype=np.float64)
    return np.where(live, sums, UNTOUCHED).ravel()


SUMS = {
    "early return": "if (i >= n) return; o[i] = block_sum(a[i], s);",
    "barriers in the middle of an expression": """
        if (i >= n) return;
        o[i] = a[i] + 2 * block_sum(a[i], s) - a[i] - block_sum(a[i], s);""",
    "two returns, work on the way out": """
        if (i >= n + 10) return;
        float v = a[i];
        if (i >= n) { if (v > 1e9f) o[i] = 3; return; }
        o[i] = block_sum(v, s);
        if (i < 0) return;
        __syncthreads();
        if (i == 99999) o[0] = 1;""",
    "return through a lambda and references": """
        Range range{0, n};
        auto leave = [&](int j) { return outside(range, j); };
        if (leave(i)) return;
        o[i] = block_sum(a[i], s);""",
    "return inside another condition": "if (n > 5) { if (i >= n) return; } o[i] = block_sum(a[i], s);",
    "return inside a thread-dependent condition": """
        if (t > 100) { if (i >= n) return; s[0] = 0; }
        __syncthreads();
        o[i] = block_sum(a[i], s);""",
    "two conditions": "if (t < 0 || i >= n) return; o[i] = block_sum(a[i], s);",
    "barrier in the guarded body": "if (i < n) { float v = block_sum(a[i], s); o[i] = v; }",
    "return inside a uniform loop": """
        for (int m = 128; m > 0; m /= 2) {
          if (i >= n) return;
          if (m == 128) s[t] = a[i];
          __syncthreads();
          if (t < m) s[t] += s[t + m];
          __syncthreads();
        }
        o[i] = s[0];""",
    "return on a thread's and a uniform condition inside a loop": """
        s[t] = i < n ? a[i] : 0;
        __syncthreads();
        for (int m = 128; m > 0; m /= 2) {
          if (t < m) s[t] += s[t + m];
          __syncthreads();
          if (i >= n && m == 64) return;
        }
        o[i] = s[0];""",
    "loop condition of two parts": """
        if (i >= n) return;
        s[t] = a[i];
        __syncthreads();
        int m = 128;
        while (m > 0 && n > 5) { if (t < m) s[t] += s[t + m]; __syncthreads(); m >>= 1; }
        o[i] = s[0];""",
    "break where the barriers go on for others": """
        s[t] = i < n ? a[i] : 0;
        __syncthreads();
        for (int m = 128; m > 0; m /= 2) { if (t >= m) break; s[t] += s[t + m]; __syncthreads(); }
        if (t == 0) for (int j = 0; j < 256; ++j) if (i + j < n) o[i + j] = s[0];""",
    "uniform return": "if (blockIdx.x >= 4) return; float r = block_sum(i < n ? a[i] : 0, s); if (i < n) o[i] = r;",
    "return decided in shared memory": """
        __shared__ int stop;
        if (t == 0) stop = blockIdx.x >= 4;
        __syncthreads();
        if (stop) return;
        float r = block_sum(i < n ? a[i] : 0, s);
        if (i < n) o[i] = r;""",
    "thread-dependent loop that happens to be uniform": """
        for (int j = t; j < 256; j += blockDim.x) { float r = block_sum(i < n ? a[i] : 0, s); if (i < n) o[i] = r; }""",
    "do-while and goto": """
        s[t] = i < n ? a[i] : 0;
        int m = 128;
        do { __syncthreads(); if (t < m) s[t] += s[t + m]; m >>= 1; } while (m > 16);
        again:
        __syncthreads();
        if (t < m) s[t] += s[t + m];
        m >>= 1;
        if (m) goto again;
        __syncthreads();
        if (i < n) o[i] = s[0];""",
    "uniform switch": """
        switch (n % 3) {
          case 1: { float r = block_sum(i < n ? a[i] : 0, s); if (i < n) o[i] = r; break; }
          default: __syncthreads(); o[i] = 5;
        }""",
}


@pytest.mark.parametrize("body", SUMS.values(), ids=SUMS.keys())
def test_sum_over_the_threads_that_stay(body: str) -> None:
    np.testing.assert_allclose(run(body), sums_of_live(), rtol=1e-4, atol=1e-4)


def test_return_by_row_of_the_block() -> None:
    out = run(
        """
        __shared__ float s[4][64];
        int row = blockIdx.x * 4 + threadIdx.y;
        if (row >= 15) return;
        s[threadIdx.y][threadIdx.x] = a[row * 64 + threadIdx.x];
        __syncthreads();
        float v = 0;
        for (int j = 0; j < 64; ++j) v += s[threadIdx.y][j];
        o[row * 64 + threadIdx.x] = v;""",
        head="__global__ void k(float* o, const float* a, int n) {",
        block=(64, 4),
    )
    expected = np.repeat(VALUES.reshape(16, 64).sum(1), 64)
    expected[15 * 64 :] = UNTOUCHED
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("vote", "expected"),
    [
        ("__syncthreads_count(a[i] > 0)", lambda positive, live: (positive & live).sum(1)),
        ("__syncthreads_and(i < n)", lambda positive, live: live.any(1)),
        ("__syncthreads_or(a[i] > 2.5f)", lambda positive, live: ((VALUES > 2.5).reshape(GRID, BLOCK) & live).any(1)),
    ],
)
def test_voting_barriers_count_only_threads_that_stay(vote: str, expected) -> None:
    live = (np.arange(SIZE) < LIVE).reshape(GRID, BLOCK)
    answers = expected((VALUES > 0).reshape(GRID, BLOCK), live)[:, None]
    np.testing.assert_array_equal(run(f"if (i >= n) return; o[i] = {vote};"), np.where(live, answers, UNTOUCHED).ravel())


@pytest.mark.parametrize(
    "loop",
    [
        "for (int j = 0; j < rounds; ++j) { s[t] = j + 1; __syncthreads(); r += s[0] * (j + 1); __syncthreads(); }",
        "int j = 0; while (true) { if (j >= rounds) break; s[t] = ++j; __syncthreads(); if (t % 3 == 0) { r += s[0] * j; } else { r += j * j; } __syncthreads(); }",
        "int j = 0; do { s[t] = ++j; __syncthreads(); r += s[0] * j; __syncthreads(); if (j > 50) return; } while (j < rounds);",
    ],
    ids=["for", "break", "do, with a return"],
)
def test_each_thread_leaves_the_last_loop_after_its_own_number_of_rounds(loop: str) -> None:
    out = run(f"const int rounds = t == 0 ? 9 : 1 + i % 7; float r = 0; {loop} o[i] = r * 100 + s[t];")
    rounds = np.where(np.arange(SIZE) % BLOCK == 0, 9, 1 + np.arange(SIZE) % 7)
    squares = rounds * (rounds + 1) * (2 * rounds + 1) / 6
    np.testing.assert_array_equal(out, squares * 100 + rounds)


DISAGREEMENTS = {
    "loop": "for (int j = t; j < 250; j += blockDim.x) { s[t] += 1; __syncthreads(); } __syncthreads(); o[i] = s[t];",
    "continue": "for (int q = 0; q < 2; ++q) { if (t == 3 && q == 0) continue; s[t] = q; __syncthreads(); } o[i] = s[0];",
    "both sides": "if (t & 1) { s[t] = 1; __syncthreads(); o[i] = s[0]; } else { s[t] = 2; __syncthreads(); o[i] = s[0]; }",
    "switch": "switch (t & 3) { case 0: __syncthreads(); break; case 1: s[t] = 1; __syncthreads(); break; default: o[i] = 0; }",
}


@pytest.mark.parametrize("body", DISAGREEMENTS.values(), ids=DISAGREEMENTS.keys())
def test_a_barrier_that_some_threads_miss_fails_the_launch(body: str) -> None:
    line = f"{BLOCK_SUM}{HEAD}".count("\n") + 1
    with pytest.raises(LaunchError, match=f"disagree about reaching a barrier: branch at line {line}"):
        run(body)


def test_a_barrier_in_a_function_that_is_not_inlined() -> None:
    source = """
    __device__ __noinline__ float other(float v) {
      __shared__ float s[256];
      s[threadIdx.x] = v;
      __syncthreads();
      return s[255 - threadIdx.x];
    }
    __global__ void k(float* o, const float* a) { o[threadIdx.x] = other(a[threadIdx.x]); }"""
    out = launch(source, [np.zeros(256, np.float32), VALUES[:256]], block=256)
    np.testing.assert_array_equal(out, VALUES[255::-1])
